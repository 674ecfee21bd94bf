// SPDX-License-Identifier: Apache-2.0
// The least that a pool and what it holds must be.
#pragma once

#include <cstdint>
#include <fabscope/pool/concepts.hpp>

namespace archetypes {

struct pooled {
  int value;
};

struct pool {
  using value_type = pooled;
  struct magazine {};
  pooled* get(magazine&) noexcept { return nullptr; }
  void put(magazine&, pooled*) noexcept {}
  void drain(magazine&) noexcept {}
  pooled* find(fabscope::handle) noexcept { return nullptr; }
  [[nodiscard]] fabscope::handle handle_of(const pooled*) const noexcept { return {}; }
  [[nodiscard]] bool owns(const pooled*) const noexcept { return false; }
  [[nodiscard]] std::uint64_t refused_total() const noexcept { return 0; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return 0; }
};

}  // namespace archetypes
