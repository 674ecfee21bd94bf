// SPDX-License-Identifier: Apache-2.0
// Operations that are known to be complete only by the value of a counter. Layer: fabric.
#pragma once

#include <cstdint>

#include <fabscope/core/relaxed.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// Operations in the order of their issue. A counter says how many are complete and not which: the
/// oldest are taken to be.
/// Threads: any issue; one at a time concludes, others that come meanwhile do not wait.
struct counted_operations {
  static constexpr std::uint64_t places = 1024;
  struct entry {
    std::uint64_t ready;  ///< number of the operation + 1 once the rest is written
    std::uint64_t begin;
    std::uint64_t ends;
    std::uint64_t kind;
    std::uint64_t amount;
    std::uint64_t cause;
    std::uint64_t state;  ///< as context_slot::state
    std::uint64_t reserved;
  };

  std::uint64_t issued = 0;     ///< all operations that the counter will count
  std::uint64_t concluded = 0;  ///< of these
  std::uint64_t base = 0;       ///< what the application has added to the counter
  std::uint32_t concluding = 0;
  std::uint32_t in_order = 1;  ///< 0: something else counts too, nothing can be concluded
  entry entries[places] = {};

  /// A number for an operation, in the order of issue.
  std::uint64_t next() noexcept { return __atomic_fetch_add(&issued, 1, __ATOMIC_RELAXED); }
  [[nodiscard]] bool has_room(std::uint64_t number) const noexcept {
    return number - acquire_load(concluded) < places;  // pairs with the release in conclude
  }
  [[nodiscard]] entry& at(std::uint64_t number) noexcept { return entries[number % places]; }

  /// Calls `done(entry)` for each operation that a counter of this value has seen.
  template <class Done>
  void conclude(std::uint64_t value, Done&& done) noexcept {
    const std::uint64_t end = relaxed_load(issued);
    std::uint64_t number = relaxed_load(concluded);
    const std::uint64_t seen = value - relaxed_load(base);
    if (number >= end || (seen <= number && relaxed_load(in_order) != 0)) return;
    // Pairs with the release below: one thread at a time.
    if (__atomic_exchange_n(&concluding, 1U, __ATOMIC_ACQUIRE) != 0) return;
    number = relaxed_load(concluded);
    const std::uint64_t until = relaxed_load(in_order) != 0 && seen < end ? seen : end;
    for (; number < until; ++number) {
      entry& one = at(number);
      if (acquire_load(one.ready) == number + 1) done(one);  // pairs with timing::count_in
      release_store(concluded, number + 1);
    }
    __atomic_store_n(&concluding, 0U, __ATOMIC_RELEASE);
  }
};
static_assert(sizeof(counted_operations::entry) == 64);

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
