// SPDX-License-Identifier: Apache-2.0
// The tracepoints, and loops over them, in a library of their own: LTTng-UST starts threads when it
// is loaded, and only then does a process register with the session daemon.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "support/lttng_provider.h"

#include <cstddef>

extern "C" {

/// A begin and an end per turn, into the live session.
void fabscope_bench_lttng_enabled(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    lttng_ust_tracepoint(fabscope_bench, scope_begin, i, 7);
    asm volatile("" : : : "memory");
    lttng_ust_tracepoint(fabscope_bench, scope_end);
  }
}

/// The same with tracepoints that no session has enabled.
void fabscope_bench_lttng_disabled(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    lttng_ust_tracepoint(fabscope_bench, never_begin, i, 7);
    asm volatile("" : : : "memory");
    lttng_ust_tracepoint(fabscope_bench, never_end);
  }
}

/// 1 if the session records the first pair and not the second.
int fabscope_bench_lttng_ready() {
  const bool on = lttng_ust_tracepoint_enabled(fabscope_bench, scope_begin) != 0 &&
                  lttng_ust_tracepoint_enabled(fabscope_bench, scope_end) != 0;
  const bool off = lttng_ust_tracepoint_enabled(fabscope_bench, never_begin) == 0 &&
                   lttng_ust_tracepoint_enabled(fabscope_bench, never_end) == 0;
  return on && off ? 1 : 0;
}
}
