// SPDX-License-Identifier: Apache-2.0
// A map from ticks to nanoseconds as plain memory, readable while it grows and after a crash.
// Layer: clock.
//
// The map is a list of straight pieces. Pieces are only appended, so a tick converts to the same
// value before and after an update. A full table is thinned into the other one of two, which then
// becomes the readable one; a reader that was overtaken twice meanwhile notices and starts again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One piece: ns = ns0 + ((ticks - ticks0) * mult >> shift), rounded down, from ticks0 to the next
/// piece.
struct FABSCOPE_VISIBLE clock_segment {
  std::uint64_t ticks0;
  std::uint64_t ns0;
  std::uint64_t mult;
  std::uint16_t shift;
  std::uint16_t jump;      ///< 1: the value of the piece before does not end in ns0
  std::uint32_t slack_ns;  ///< how far thinning moved this piece from those it replaced, at most
};

/// The whole map. Zeroed memory is an empty map, which converts a tick to itself. Part of the
/// segment format: its layout changes only with that format's version.
struct FABSCOPE_VISIBLE clock_map_data {
  static constexpr std::size_t capacity = 240;
  struct table {
    std::uint64_t count;
    std::uint64_t reserved;
    clock_segment segments[capacity];
  };

  std::uint32_t kind;  ///< clock_kind of the ticks
  std::uint32_t reserved0;
  std::uint64_t generation;      ///< tables[generation & 1] is the readable one
  std::uint64_t building;        ///< generation + 1 while the other table is written
  std::uint64_t updates_total;   ///< comparisons with CLOCK_MONOTONIC
  std::uint64_t backward_total;  ///< how often the counter had gone back
  std::uint64_t jump_total;      ///< how often counter and CLOCK_MONOTONIC had parted by 10 ms
  std::uint64_t late_total;      ///< pieces that were published after their begin
  std::uint64_t last_error_ns;   ///< distance found by the last comparison, reading error included
  std::uint64_t worst_error_ns;  ///< the greatest of these since the start
  std::uint64_t reserved[7];
  table tables[2];
};

static_assert(std::is_trivially_copyable_v<clock_segment> && sizeof(clock_segment) == 32);
static_assert(std::is_standard_layout_v<clock_map_data> && std::is_trivial_v<clock_map_data>);
static_assert(offsetof(clock_map_data, tables) == 128 && sizeof(clock_map_data) == 15520);

namespace detail {

__extension__ using uint128 = unsigned __int128;
__extension__ using int128 = __int128;

template <class T>
T load_acquire(const T& from) noexcept {
  return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}
template <class T>
T load_relaxed(const T& from) noexcept {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
template <class T>
void store_release(T& to, T value) noexcept {
  __atomic_store_n(&to, value, __ATOMIC_RELEASE);
}
template <class T>
void store_relaxed(T& to, T value) noexcept {
  __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

/// The value of one piece, extended backwards where ticks lie before it; not below zero.
constexpr std::uint64_t piece_ns(const clock_segment& piece, std::uint64_t ticks) noexcept {
  const unsigned shift = piece.shift & 63U;
  if (ticks >= piece.ticks0) {
    return piece.ns0 +
           static_cast<std::uint64_t>((uint128{ticks - piece.ticks0} * piece.mult) >> shift);
  }
  const uint128 product = uint128{piece.ticks0 - ticks} * piece.mult;
  const uint128 back = (product + ((uint128{1} << shift) - 1)) >> shift;  // rounds away from ns0
  return back < piece.ns0 ? piece.ns0 - static_cast<std::uint64_t>(back) : 0;
}

/// Copies a piece out of shared memory. The loads acquire, so that the caller's look at `building`
/// cannot pass them; they pair with the release stores in store_segment.
inline clock_segment load_segment(const clock_segment& from) noexcept {
  clock_segment piece;
  piece.ticks0 = load_acquire(from.ticks0);
  piece.ns0 = load_acquire(from.ns0);
  piece.mult = load_acquire(from.mult);
  piece.shift = load_acquire(from.shift);
  piece.jump = load_acquire(from.jump);
  piece.slack_ns = load_acquire(from.slack_ns);
  return piece;
}

inline void store_segment(clock_segment& to, const clock_segment& piece) noexcept {
  store_release(to.ticks0, piece.ticks0);
  store_release(to.ns0, piece.ns0);
  store_release(to.mult, piece.mult);
  store_release(to.shift, piece.shift);
  store_release(to.jump, piece.jump);
  store_release(to.slack_ns, piece.slack_ns);
}

}  // namespace detail

/// Converts ticks with the newest piece that begins at or before them (the oldest, if none does).
/// Units: ns of CLOCK_MONOTONIC. Threads: any, also while another updates the map, and on a mapped
/// file of a dead process; damaged data gives a wrong number and never a fault. Progress:
/// lock-free; starts again if two thinnings (seconds apart) fell into one call. Cost: a few loads
/// and a multiplication for recent ticks.
inline std::uint64_t ticks_to_ns(const clock_map_data& map, std::uint64_t ticks) noexcept {
  std::uint64_t ns = ticks;
  for (int attempt = 0; attempt < 64; ++attempt) {
    const std::uint64_t generation = detail::load_acquire(map.generation);
    const clock_map_data::table& table = map.tables[generation & 1];
    const std::uint64_t count =
        detail::load_acquire(table.count);  // pairs with the store in append
    if (count == 0) {
      return ticks;
    }
    std::size_t at = count < map.capacity ? static_cast<std::size_t>(count) - 1 : map.capacity - 1;
    while (at > 0 && ticks < detail::load_acquire(table.segments[at].ticks0)) {
      --at;
    }
    ns = detail::piece_ns(detail::load_segment(table.segments[at]), ticks);
    if (detail::load_relaxed(map.building) < generation + 2) {
      return ns;
    }
  }
  return ns;
}

FABSCOPE_NAMESPACE_END
