// SPDX-License-Identifier: Apache-2.0
// Makes room in a clock map by leaving out the pieces that matter least. Layer: clock.
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/clock/clock_map_data.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

constexpr std::uint64_t greater(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a : b; }
constexpr std::uint64_t lesser(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }
constexpr std::uint64_t absolute(std::int64_t a) noexcept {
  return a < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
}
constexpr std::uint64_t least_most(std::uint64_t a, std::uint64_t least,
                                   std::uint64_t most) noexcept {
  return lesser(greater(a, least), most);
}

/// Multiplier of the straight line from a to b; it does not exceed b's value at b.
constexpr std::uint64_t chord(const clock_segment& a, const clock_segment& b) noexcept {
  return static_cast<std::uint64_t>((uint128{b.ns0 - a.ns0} << (a.shift & 63U)) /
                                    (b.ticks0 - a.ticks0));
}

inline constexpr std::uint64_t cannot_go = ~std::uint64_t{0};

/// How far the map would be from its first course without piece i, at most.
constexpr std::uint64_t slack_without(const clock_segment* pieces, std::size_t i) noexcept {
  const clock_segment& before = pieces[i - 1];
  const clock_segment& after = pieces[i + 1];
  if (pieces[i].jump != 0 || after.jump != 0) {
    return cannot_go;
  }
  clock_segment line = before;
  line.mult = chord(before, after);
  const auto moved = static_cast<std::int64_t>(piece_ns(line, pieces[i].ticks0) - pieces[i].ns0);
  const std::uint64_t slack = greater(before.slack_ns, pieces[i].slack_ns) + absolute(moved) + 1;
  return slack <= 0xffffffffU ? slack : cannot_go;
}

/// Writes the map into its other table with 60 pieces less and makes that the readable one. The
/// newest 60 stay as they are; where no piece can go without a jump, the oldest goes. Threads: the
/// map's one updater. Progress: readers are not held up. Cost: some hundred microseconds.
inline void thin(clock_map_data& map) noexcept {
  constexpr std::size_t quarter = clock_map_data::capacity / 4;
  const clock_map_data::table& from = map.tables[map.generation & 1];
  clock_segment kept[clock_map_data::capacity];
  std::size_t size = static_cast<std::size_t>(from.count);
  for (std::size_t i = 0; i < size; ++i) {
    kept[i] = from.segments[i];
  }
  while (size > clock_map_data::capacity - quarter) {
    std::size_t victim = 0;
    std::uint64_t least = cannot_go;
    for (std::size_t i = 1; i + quarter < size; ++i) {
      const std::uint64_t slack = slack_without(kept, i);
      if (slack < least) {
        least = slack;
        victim = i;
      }
    }
    if (victim != 0) {
      clock_segment& before = kept[victim - 1];
      before.mult = chord(before, kept[victim + 1]);
      before.slack_ns = static_cast<std::uint32_t>(least);
    }
    --size;
    for (std::size_t i = victim; i < size; ++i) {
      kept[i] = kept[i + 1];
    }
  }
  const std::uint64_t next = map.generation + 1;
  // A reader of generation next - 2 sees this once it sees any of the stores below, which release.
  store_relaxed(map.building, next);
  clock_map_data::table& to = map.tables[next & 1];
  for (std::size_t i = 0; i < size; ++i) {
    store_segment(to.segments[i], kept[i]);
  }
  store_release(to.count, std::uint64_t{size});
  store_release(map.generation, next);  // pairs with the acquire in ticks_to_ns
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
