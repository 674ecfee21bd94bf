// SPDX-License-Identifier: Apache-2.0
// The least that an accumulator and a keyed row must be.
#pragma once

#include <cstdint>

namespace archetypes {

struct accumulator {
  void record(std::uint64_t) noexcept {}
  void merge(const accumulator&) noexcept {}
  [[nodiscard]] std::uint64_t count() const noexcept { return 0; }
};

struct keyed_row {
  using key_type = std::uint64_t;
  std::uint64_t used;
  std::uint64_t name;
  [[nodiscard]] key_type key() const noexcept { return name; }
  void set_key(key_type key) noexcept { name = key; }
};

}  // namespace archetypes
