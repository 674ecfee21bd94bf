// SPDX-License-Identifier: Apache-2.0
// What one thread spends: CPU time, and whether anybody took the processor away from it meanwhile.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace bench {

inline std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// CPU time of the calling thread. One reading is a system call of about 0.3 us, so what is
/// measured with it lasts at least 100 us.
inline std::uint64_t thread_cpu_ns() noexcept { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }
inline std::uint64_t wall_ns() noexcept { return nanoseconds(CLOCK_MONOTONIC); }

/// How often somebody took the processor from the calling thread. Waiting for a lock does not
/// count: it belongs to what is measured.
inline long preemptions() noexcept {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

/// Number of the n-th processor that the process may use, or -1.
inline int processor(unsigned n) noexcept {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed) && n-- == 0) return static_cast<int>(i);
  }
  return -1;
}

/// Keeps the calling thread on the n-th processor, if there are that many.
inline void pin_to(unsigned n) noexcept {
  const int number = processor(n);
  if (number < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(number), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace bench
