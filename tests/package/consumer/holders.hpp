// SPDX-License-Identifier: Apache-2.0
// Types of the library as members of a user's types: no warning, nothing exported.
#pragma once

#include <fabscope/fabscope.hpp>
#include <fabscope/session.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <memory>
#include <utility>
#include <vector>

struct settings {
  fabscope::options options;
  fabscope::diagnostics diagnostics;
  fabscope::identity identity;
  fabscope::environment environment = fabscope::environment::of_process();
};

struct profiler {
  std::unique_ptr<fabscope::session> session = [] {
    fabscope::options quiet;
    quiet.outputs = fabscope::output_none;
    return std::make_unique<fabscope::session>(quiet);
  }();
};

struct owner {
  fabscope::session session;
};

struct answers {
  fabscope::result<int> number{1};
  fabscope::result<fabscope::handle> handle{fabscope::errc::io};
  const fabscope::sink_context* context = nullptr;
  fabscope::handle slot;
  fabscope::bytes amount;
  fabscope::byte_rate rate;
  fabscope::cause cause;
  fabscope::record_totals totals;
};

struct records {
  std::vector<fabscope::scope_record> scopes;
  fabscope::operation_record operation;
  fabscope::step_record step;
  fabscope::attribute_record attribute;
};

struct clocks {
  fabscope::clock_map_data data{};
  fabscope::clock_map map{data};
  fabscope::clock_snapshot snapshot;
  fabscope::steady_clock steady;
  fabscope::counter_clock counter;
  fabscope::manual_clock<> manual;
};

struct sinks {
  fabscope::null_sink none;
  fabscope::memory_sink<fabscope::scope_record> memory{16};
  fabscope::tee_sink<fabscope::null_sink, fabscope::memory_sink<fabscope::scope_record>> both{
      none, memory};
  fabscope::scopes_jsonl_sink scopes{fabscope::file_sink_options{}};
  fabscope::operations_csv_sink operations{fabscope::file_sink_options{}};
  char text[64] = {};
  fabscope::text_writer writer{text};
  fabscope::text_file file;
};

struct numbers {
  fabscope::histogram<5> histogram;
  fabscope::interval_union busy;
  fabscope::interval_merger merger;
};

struct buffers {
  fabscope::spsc_ring<int> ring;
  fabscope::overwrite_writer writer;
  fabscope::overwrite_reader reader;
  fabscope::ring_cursor cursor;
  fabscope::slot_pool<int>* pool = nullptr;
  fabscope::segment_view view;
};

struct named {
  fabscope::site site{"named"};
  fabscope::site* other = &site;
  fabscope::null_recorder nobody;
};

/// Makes, copies and destroys them; does nothing with them.
inline int hold_everything() {
  const settings one;
  settings two = one;
  two = one;
  settings three = static_cast<settings&&>(two);
  const answers a;
  const records r;
  auto big = std::make_unique<numbers>();
  auto clock = std::make_unique<clocks>();
  clock->map.start(fabscope::clock_kind::monotonic);
  big->histogram.record(clock->map.to_ns(5));
  big->busy.add(1, 2);
  sinks s;
  s.writer.text("x").hex(17).json_number(0.5);
  buffers b;
  b.ring = std::move(*fabscope::spsc_ring<int>::create(16));
  const bool pushed = b.ring.try_push(1);
  const named n;
  auto const later = [&b, &s, view = &b.view, pushed] {
    return pushed && view != nullptr && s.writer.size() > 0 && b.ring.capacity() == 16;
  };
  return later() && a.number.has_value() && r.scopes.empty() && n.other->name() == "named" &&
                 three.options.wanted_ring_slots() > 0 && big->busy.total() == 1 &&
                 s.memory.lost_total() == 0
             ? 1
             : 0;
}
