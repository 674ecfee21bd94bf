// SPDX-License-Identifier: Apache-2.0
// The least that a clock must be.
#pragma once

#include <cstdint>

namespace archetypes {

struct clock {
  static std::uint64_t now() noexcept { return 0; }
};

}  // namespace archetypes
