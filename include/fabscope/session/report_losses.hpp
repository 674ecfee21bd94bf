// SPDX-License-Identifier: Apache-2.0
// Where the records went, and what the library itself cost, in the text report.
// Layer: session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/session/options.hpp>
#include <fabscope/session/report_data.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Of one ring: produced == read + overwritten + unread.
struct ring_counts {
  std::uint64_t produced = 0;
  std::uint64_t read = 0;
  std::uint64_t overwritten = 0;
  std::uint64_t unread = 0;

  explicit ring_counts(const segment_format::thread_entry& thread) noexcept
      : read(relaxed_load(thread.read)), overwritten(relaxed_load(thread.overwritten)) {
    produced = acquire_load(thread.head);
    unread = produced - read - overwritten;
  }
  ring_counts() noexcept = default;
};

inline ring_counts all_rings(const report_data& data) noexcept {
  ring_counts sum;
  for (const segment_format::thread_entry& thread : data.view.threads()) {
    const ring_counts one(thread);
    sum.produced += one.produced;
    sum.read += one.read;
    sum.overwritten += one.overwritten;
    sum.unread += one.unread;
  }
  return sum;
}

/// In level count nobody reads the rings: they are there for the case of a
/// crash.
inline bool flight_only(const report_data& data) noexcept {
  return data.view.head().level < static_cast<std::uint32_t>(level::record);
}

FABSCOPE_NOINLINE inline void print_losses(std::string& to, const report_data& data) {
  section(to, "losses");
  if (data.extra.has_totals) {
    const record_totals& t = data.extra.totals;
    to += "records: produced " + whole(t.produced) + " == written " + whole(t.written) +
          " + dropped " + whole(t.dropped) + " + overwritten " + whole(t.overwritten) +
          " + filtered " + whole(t.filtered) + " + unread " + whole(t.unread) + "\n";
  } else {
    const ring_counts t = all_rings(data);
    to += "records: produced " + whole(t.produced) + " == read " + whole(t.read) +
          " + overwritten " + whole(t.overwritten) + " + unread " + whole(t.unread) + "\n";
  }
  if (flight_only(data)) {
    to +=
        "# level count: records are only kept in the rings, sums are "
        "complete\n";
  }
  report_table rings({"<thread", "tid", "produced", "read", "overwritten", "unread", "slots"});
  for (const segment_format::thread_entry& thread : data.view.threads()) {
    const ring_counts one(thread);
    rings.add({word(entry_text(thread.name)), whole(relaxed_load(thread.tid)), whole(one.produced),
               whole(one.read), whole(one.overwritten), whole(one.unread),
               whole(thread.ring_mask + 1)});
  }
  if (!rings.empty()) rings.print(to);
  report_table outputs(
      {"<output", "offered", "written", "lost", "filtered", "not_offered", "<why", "<path"});
  for (const report_output& one : data.extra.outputs) {
    outputs.add({word(one.kind), whole(one.offered), whole(one.written), whole(one.lost),
                 whole(one.filtered), whole(one.not_offered),
                 one.lost == 0 ? "-" : word(one.reason, "unknown"), word(one.path, "-")});
  }
  if (!outputs.empty()) outputs.print(to);
  const segment_format::header& head = data.view.head();
  if (head.threads_refused + head.labels_refused + head.memory_refused != 0) {
    to += "refused: " + whole(head.threads_refused) + " threads, " + whole(head.labels_refused) +
          " names, " + whole(head.memory_refused) + " bytes of tables\n";
  }
}

FABSCOPE_NOINLINE inline void print_cost(std::string& to, const report_data& data) {
  const segment_format::header& head = data.view.head();
  section(to, "own cost");
  const double duration = data.duration_ns();
  const auto cpu = static_cast<double>(relaxed_load(head.collector_cpu_ns));
  to += "collector  " + millis(cpu) + " ms CPU, " +
        (duration > 0 ? decimal(cpu / duration * 100, 3) + " % of a core" : "share unknown") +
        ", " + whole(relaxed_load(head.ticks_done)) + " rounds\n";
  to += "segment    " + decimal(static_cast<double>(relaxed_load(head.file_bytes)) / 1e6, 1) +
        " MB, " + whole(data.view.threads().size()) + " rings\n";
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
