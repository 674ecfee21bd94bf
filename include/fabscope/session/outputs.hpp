// SPDX-License-Identifier: Apache-2.0
// The files that a session writes of its own accord. Layer: session.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <fabscope/session/collector.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// The library's own sinks as the options ask for them, and the report at the end.
/// Threads: one at a time.
class outputs {
 public:
  outputs(const options& chosen, const identity& who, run_directory& directory)
      : wanted_(chosen.wanted_outputs()),
        on_stderr_(chosen.report_on_stderr),
        directory_(directory),
        budget_{chosen.max_mb * 1000000},
        operations_(file_options(who), chosen.ops_min_bytes),
        scopes_(file_options(who)) {}
  outputs(const outputs&) = delete;
  outputs& operator=(const outputs&) = delete;

  void attach_to(collector& records) {
    if ((wanted_ & output_csv) != 0) {
      records.attach(
          std::make_unique<typed_sink<operations_csv_sink, operation_record>>(operations_));
    }
    if ((wanted_ & output_jsonl) != 0) {
      records.attach(
          std::make_unique<
              typed_sink<scopes_jsonl_sink, scope_record, step_record, attribute_record>>(scopes_));
    }
  }

  /// Writes the report of a session whose sinks have finished, and says on stderr where everything
  /// is.
  void write_report(int segment_file, const record_totals& totals,
                    const std::string& why_volatile) {
    auto view = segment_view::map(segment_file);
    if (!view) return;
    report_extra extra;
    extra.totals = totals;
    extra.has_totals = true;
    if (!why_volatile.empty()) {
      extra.notes.push_back("not kill-safe: " + why_volatile);
    }
    add_output(extra, "ops.csv", operations_, operations_.filtered_total());
    add_output(extra, "scopes.jsonl", scopes_, 0);
    if ((wanted_ & output_report) != 0) write_text(render_report(*view, extra));
    say_where(extra);
  }

 private:
  file_sink_options file_options(const identity& who) noexcept {
    file_sink_options out;
    out.opener = {this, [](void* self, const char* kind) noexcept {
                    return static_cast<outputs*>(self)->directory_.open(kind);
                  }};
    out.budget = &budget_;
    out.host = who.host;
    out.rank = who.rank;
    out.pid = who.pid;
    return out;
  }

  template <class Sink>
  void add_output(report_extra& extra, const char* kind, const Sink& sink, std::uint64_t filtered) {
    if (sink.rows_written() + sink.lost_total() + filtered == 0) return;
    extra.outputs.push_back({kind, directory_.path_of(kind), sink.rows_written(), sink.lost_total(),
                             filtered, sink.capped()});
  }

  void write_text(const std::string& text) {
    const int fd = on_stderr_ ? STDERR_FILENO : directory_.open("report.txt");
    if (fd < 0) return;
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        diagnostics::on_stderr().say("fabscope: the report is incomplete: " +
                                     std::string(std::strerror(errno)));
        break;
      }
      done += static_cast<std::size_t>(wrote);
    }
    if (!on_stderr_) ::close(fd);
  }

  /// One line that names the directory, and one line per kind of loss that names its remedy.
  void say_where(const report_extra& extra) const {
    const diagnostics user = diagnostics::on_stderr();
    if (!directory_.files().empty()) {
      user.say("fabscope: " + std::to_string(directory_.files().size()) +
               (directory_.files().size() == 1 ? " file in " : " files in ") +
               directory_.directory());
    }
    if (extra.totals.overwritten != 0) {
      user.say("fabscope: " + std::to_string(extra.totals.overwritten) + " of " +
               std::to_string(extra.totals.produced) +
               " records were overwritten before they were read: set FABSCOPE_RING_SLOTS higher or "
               "FABSCOPE_PERIOD_MS lower");
    }
    for (const report_output& one : extra.outputs) {
      if (one.lost == 0) continue;
      user.say("fabscope: " + std::to_string(one.lost) + " rows are missing in " + one.path +
               (one.capped ? ": set FABSCOPE_MAX_MB higher" : ": the file could not be written"));
    }
  }

  std::uint32_t wanted_;
  bool on_stderr_;
  run_directory& directory_;
  byte_budget budget_;
  operations_csv_sink operations_;
  scopes_jsonl_sink scopes_;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
