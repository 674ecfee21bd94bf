// SPDX-License-Identifier: Apache-2.0
// The operating system's clocks in nanoseconds. Layer: clock.
#pragma once

#include <time.h>

#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

FABSCOPE_ALWAYS_INLINE std::uint64_t clock_ns(clockid_t id) noexcept {
  timespec t;
  // A failure is impossible for the three clocks below: they exist in every supported kernel.
  (void)::clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace detail

/// CLOCK_MONOTONIC: the time axis of every file. Units: ns. Threads: any. Cost: one vDSO call.
FABSCOPE_ALWAYS_INLINE std::uint64_t monotonic_ns() noexcept {
  return detail::clock_ns(CLOCK_MONOTONIC);
}

/// CLOCK_REALTIME: wall time since 1970, steps when the machine's time is set. Units: ns.
inline std::uint64_t realtime_ns() noexcept { return detail::clock_ns(CLOCK_REALTIME); }

/// CLOCK_BOOTTIME: as CLOCK_MONOTONIC, but it goes on while the machine sleeps. Units: ns.
inline std::uint64_t boottime_ns() noexcept { return detail::clock_ns(CLOCK_BOOTTIME); }

/// The fallback that always works: one tick is one nanosecond of CLOCK_MONOTONIC.
struct FABSCOPE_VISIBLE steady_clock {
  FABSCOPE_HIDDEN static std::uint64_t now() noexcept { return monotonic_ns(); }
};

FABSCOPE_NAMESPACE_END
