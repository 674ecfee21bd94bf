// SPDX-License-Identifier: Apache-2.0
// A clock that a test sets by hand. Layer: clock.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A settable clock. Each Tag is a clock of its own, so that tests do not share one.
/// Threads: any; a value set is seen by whoever is synchronised with the setter.
template <class Tag = void>
struct FABSCOPE_VISIBLE manual_clock {
  FABSCOPE_HIDDEN static std::uint64_t now() noexcept {
    return __atomic_load_n(&ticks_, __ATOMIC_RELAXED);
  }
  FABSCOPE_HIDDEN static void set(std::uint64_t ticks) noexcept {
    __atomic_store_n(&ticks_, ticks, __ATOMIC_RELAXED);
  }
  FABSCOPE_HIDDEN static void advance(std::uint64_t ticks) noexcept {
    __atomic_fetch_add(&ticks_, ticks, __ATOMIC_RELAXED);
  }

 private:
  FABSCOPE_HIDDEN static inline constinit std::uint64_t ticks_ = 0;
};

FABSCOPE_NAMESPACE_END
