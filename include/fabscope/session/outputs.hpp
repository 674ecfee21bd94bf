// SPDX-License-Identifier: Apache-2.0
// The files that a session writes of its own accord. Layer: session.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/session/collector.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/operation_options.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/session/timer_files.hpp>
#include <fabscope/sink/binary_sink.hpp>
#include <fabscope/sink/collectives_jsonl.hpp>
#include <fabscope/sink/operation_log.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <fabscope/sink/timer_csv.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Records of a type that no copy's compiler of this sink knew, as the segment describes it.
class described_route final : public record_route {
 public:
  described_route(binary_sink& sink, const segment_format::type_entry& type) : sink_(sink) {
    name_ = entry_text(type.name);
    const std::uint32_t count = type.field_count < segment_format::max_fields
                                    ? type.field_count
                                    : segment_format::max_fields;
    texts_.reserve(2 * std::size_t{count});  // the fields point into it
    for (std::uint32_t i = 0; i < count; ++i) {
      const segment_format::field_entry& from = type.fields[i];
      const auto kind = static_cast<field_type>(from.type);
      if (from.offset + size_of(kind) * from.count > type.bytes) continue;
      texts_.emplace_back(entry_text(from.name));
      texts_.emplace_back(entry_text(from.unit));
      fields_.push_back(field(texts_[texts_.size() - 2].c_str(), texts_.back().c_str(), from.offset,
                              kind, static_cast<field_role>(from.role), from.count));
    }
    type_ = {sizeof type_,
             type.bytes,
             name_.c_str(),
             fields_.data(),
             static_cast<std::uint32_t>(fields_.size()),
             0};
  }
  void deliver(const unsigned char* packed, std::size_t count,
               const sink_context& about) noexcept override {
    sink_.consume_described(type_, packed, count, about);
  }

 private:
  binary_sink& sink_;
  std::string name_;
  std::vector<std::string> texts_;
  std::vector<field> fields_;
  fabscope_type type_{};
};

/// Gives the binary sink every record, also those of the program's own types.
class everything final : public typed_sink<binary_sink, scope_record, step_record, attribute_record,
                                           operation_record, collective_record> {
 public:
  explicit everything(binary_sink& sink)
      : typed_sink(sink), sink_(sink), others_(segment_format::max_types + 1) {}
  record_route* route(std::uint32_t number, const segment_format::type_entry& type) override {
    if (record_route* const known = typed_sink::route(number, type)) return known;
    const bool fits = type.is_row == 0 && type.bytes >= sizeof(record_header) &&
                      type.bytes <= slot_bytes && type.bytes % 8 == 0;
    if (!fits) return nullptr;
    if (others_[number] == nullptr)
      others_[number] = std::make_unique<described_route>(sink_, type);
    return others_[number].get();
  }

 private:
  binary_sink& sink_;
  std::vector<std::unique_ptr<described_route>> others_;
};

/// The library's own sinks as the options ask for them, and the report at the end.
/// Threads: one at a time.
class outputs {
 public:
  outputs(const options& chosen, const identity& who, run_directory& directory)
      : chosen_(chosen),
        wanted_(chosen.wanted_outputs()),
        on_stderr_(chosen.report_on_stderr),
        directory_(directory),
        budget_{chosen.max_mb * 1000000},
        timer_(chosen, who),
        operations_(selection_of(chosen, false), chosen.ops_mb << 20, file_options(who)),
        timer_operations_(selection_of(chosen, true), chosen.ops_mb << 20, timer_options(who)),
        scopes_(file_options(who)),
        collectives_(file_options(who)),
        binary_(file_options(who)) {}
  outputs(const outputs&) = delete;
  outputs& operator=(const outputs&) = delete;

  void attach_to(collector& records) {
    if ((wanted_ & output_csv) != 0) {
      operations_bound_ = timer_.wanted() ? attach<operation_record>(records, timer_operations_)
                                          : attach<operation_record>(records, operations_);
    }
    if ((wanted_ & output_jsonl) != 0) {
      scopes_bound_ = attach<scope_record, step_record, attribute_record>(records, scopes_);
      collectives_bound_ = attach<collective_record>(records, collectives_);
    }
    if ((wanted_ & output_bin) != 0) {
      auto bound = std::make_unique<everything>(binary_);
      binary_bound_ = bound.get();
      records.attach(std::move(bound));
    }
  }

  /// Writes the report of a session whose sinks have finished, and says on stderr where everything
  /// is.
  void write_report(int segment_file, const collector& records, const record_totals& totals,
                    const std::string& why_volatile) {
    auto view = segment_view::map(segment_file);
    if (!view) return;
    report_extra extra;
    extra.totals = totals;
    extra.has_totals = true;
    if (!why_volatile.empty()) {
      extra.notes.push_back("not kill-safe: " + why_volatile);
    }
    std::string empty_log;
    if (timer_.wanted()) {
      add_output(extra, "intercept_timer_ops.csv", timer_operations_.rows(), operations_bound_,
                 timer_.operations_path());
      empty_log = why_empty(timer_operations_, chosen_);
    } else {
      add_output(extra, "ops.csv", operations_.rows(), operations_bound_);
      empty_log = why_empty(operations_, chosen_);
    }
    if (operations_bound_ == nullptr) empty_log.clear();
    add_output(extra, "scopes.jsonl", scopes_, scopes_bound_);
    add_output(extra, "coll.jsonl", collectives_, collectives_bound_);
    add_output(extra, "records.bin", binary_, binary_bound_);
    add_others(extra, records);
    if ((wanted_ & output_report) != 0) write_text(render_report(*view, extra));
    timer_.write_report(*view, extra);
    say_where(extra, view->head().threads_refused);
    if (!empty_log.empty()) diagnostics::on_stderr().say("fabscope: " + empty_log);
  }

 private:
  template <event_record... Records, class Sink>
  static const bound_sink* attach(collector& records, Sink& sink) {
    auto bound = std::make_unique<typed_sink<Sink, Records...>>(sink);
    const bound_sink* out = bound.get();
    records.attach(std::move(bound));
    return out;
  }

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

  file_sink_options timer_options(const identity& who) noexcept {
    file_sink_options out = file_options(who);
    out.opener = timer_.operations_opener();
    return out;
  }

  /// Why rows are missing, and what to do about it.
  static void explain(report_output& out, int error, bool capped) {
    if (capped) {
      out.reason = "FABSCOPE_MAX_MB";
      out.remedy = "set FABSCOPE_MAX_MB higher";
      return;
    }
    out.reason = error == 0 ? "no file" : error == ENOENT ? "removed" : std::strerror(error);
    switch (error) {
      case 0: out.remedy = "there is no file for them"; break;
      case ENOENT: out.remedy = "the file was removed while the program ran"; break;
      case ENOSPC:
      case EDQUOT:
        out.remedy = out.reason + "; make room, or set FABSCOPE_DIR to another file system";
        break;
      case EFBIG:
        out.remedy = out.reason + "; raise the limit on the size of files (ulimit -f)";
        break;
      default: out.remedy = out.reason + "; set FABSCOPE_DIR to another file system"; break;
    }
  }

  template <class Sink>
  void add_output(report_extra& extra, const char* kind, const Sink& sink, const bound_sink* bound,
                  const std::string& path = {}) {
    if (bound == nullptr || bound->offered == 0) return;
    report_output out{kind,
                      path.empty() ? directory_.path_of(kind) : path,
                      bound->offered,
                      bound->skipped,
                      sink.rows_written(),
                      sink.lost_total(),
                      bound->filtered_total(),
                      {},
                      {}};
    explain(out, sink.error_number(), sink.capped());
    extra.outputs.push_back(out);
  }

  /// Those that the program added.
  void add_others(report_extra& extra, const collector& records) const {
    int number = 0;
    for (const auto& sink : records.sinks()) {
      if (sink.get() == operations_bound_ || sink.get() == scopes_bound_ ||
          sink.get() == collectives_bound_ || sink.get() == binary_bound_) {
        continue;
      }
      report_output out{"sink-" + std::to_string(++number),
                        {},
                        sink->offered,
                        sink->skipped,
                        0,
                        sink->lost_total(),
                        sink->filtered_total(),
                        {},
                        {}};
      const std::uint64_t rest = out.lost + out.filtered;
      out.written = out.offered > rest ? out.offered - rest : 0;
      out.reason = sink->status() == errc::ok ? "full" : to_string(sink->status());
      out.remedy = "the program's own sink could not keep them: " + out.reason;
      extra.outputs.push_back(out);
    }
  }

  void write_text(const std::string& text) {
    // A stderr that is closed, or a pipe without reader, is no place for it.
    if (on_stderr_ && !stderr_is_closed &&
        write_all(STDERR_FILENO, text.data(), text.size()).error == 0) {
      return;
    }
    const int fd = directory_.open("report.txt");
    if (fd < 0) return;
    const write_result end = write_all(fd, text.data(), text.size());
    ::close(fd);
    if (end.error == 0) return;
    report_output about;
    explain(about, end.error, false);
    diagnostics::on_stderr().say("fabscope: " + directory_.path_of("report.txt") +
                                 " is incomplete: " + about.remedy);
  }

  /// One line that names the directory, and one line per kind of loss that names its remedy.
  void say_where(const report_extra& extra, std::uint32_t threads_refused) const {
    const diagnostics user = diagnostics::on_stderr();
    timer_.say_where(user);
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
    if (threads_refused != 0) {
      user.say("fabscope: " + std::to_string(threads_refused) +
               " threads found no room and recorded nothing: set FABSCOPE_RING_SLOTS lower, or "
               "FABSCOPE_NODE_DIR to a place with more room");
    }
    for (const report_output& one : extra.outputs) {
      if (one.lost == 0) continue;
      user.say("fabscope: " + std::to_string(one.lost) + " of " + std::to_string(one.offered) +
               " rows are missing in " + (one.path.empty() ? one.kind : one.path) + ": " +
               one.remedy);
    }
  }

  const options& chosen_;  // the engine's
  std::uint32_t wanted_;
  bool on_stderr_;
  run_directory& directory_;
  byte_budget budget_;
  timer_files timer_;
  operation_log<operations_csv_sink> operations_;
  operation_log<timer_csv_sink> timer_operations_;
  scopes_jsonl_sink scopes_;
  collectives_jsonl_sink collectives_;
  binary_sink binary_;
  const bound_sink* operations_bound_ = nullptr;
  const bound_sink* scopes_bound_ = nullptr;
  const bound_sink* collectives_bound_ = nullptr;
  const bound_sink* binary_bound_ = nullptr;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
