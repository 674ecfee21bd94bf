// SPDX-License-Identifier: Apache-2.0
// Everything of the core that needs no thread, no session, no file and no third party.
#pragma once

// IWYU pragma: begin_exports
#include <fabscope/clock/clock_map.hpp>
#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/clock/concepts.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/manual_clock.hpp>
#include <fabscope/clock/steady_clock.hpp>
#include <fabscope/core/handle.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/core/units.hpp>
#include <fabscope/event/adapt.hpp>
#include <fabscope/event/cause.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/pool/slot_pool.hpp>
#include <fabscope/ring/mpsc_ring.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <fabscope/scope.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/null_sink.hpp>
#include <fabscope/sink/tee_sink.hpp>
#include <fabscope/stats/bandwidth.hpp>
#include <fabscope/stats/counter_rate.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/histogram.hpp>
#include <fabscope/stats/interval_union.hpp>
#include <fabscope/stats/moments.hpp>
#include <fabscope/stats/real_moments.hpp>
#include <fabscope/stats/row_reader.hpp>
#include <fabscope/stats/row_table.hpp>
#include <fabscope/stats/rows.hpp>
#include <fabscope/stats/sparse_histogram.hpp>
#include <fabscope/stats/top_k.hpp>
// IWYU pragma: end_exports
