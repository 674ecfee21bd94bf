/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints of LTTng-UST that carry what a scope carries: a begin and an end of one thing; one
 * pair that a session enables and one that none does. LTTng's own headers read this file several
 * times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER fabscope_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "support/lttng_provider.h"

#if !defined(FABSCOPE_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define FABSCOPE_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(fabscope_bench, scope_begin,
                           LTTNG_UST_TP_ARGS(uint64_t, bytes, uint64_t, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, bytes, bytes)
                                                   lttng_ust_field_integer(uint64_t, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(fabscope_bench, scope_end, LTTNG_UST_TP_ARGS(void),
                           LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(fabscope_bench, never_begin,
                           LTTNG_UST_TP_ARGS(uint64_t, bytes, uint64_t, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, bytes, bytes)
                                                   lttng_ust_field_integer(uint64_t, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(fabscope_bench, never_end, LTTNG_UST_TP_ARGS(void),
                           LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
