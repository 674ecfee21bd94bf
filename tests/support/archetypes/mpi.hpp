// SPDX-License-Identifier: Apache-2.0
// The least that can be merged over ranks.
#pragma once

namespace archetypes {

struct mergeable {
  void merge(const mergeable&) noexcept {}
};

}  // namespace archetypes
