// SPDX-License-Identifier: Apache-2.0
// The least that a ring, its records and a flight recorder must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace archetypes {

struct slot_record {
  std::uint64_t word;
};

struct ring {
  using value_type = int;
  bool try_push(const int&) noexcept { return false; }
  std::size_t pop_batch(std::span<int>) noexcept { return 0; }
  [[nodiscard]] std::uint64_t dropped_total() const noexcept { return 0; }
  [[nodiscard]] std::size_t capacity() const noexcept { return 0; }
};

struct flight_recorder {
  void push(const slot_record&) noexcept {}
};

}  // namespace archetypes
