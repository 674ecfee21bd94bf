// SPDX-License-Identifier: Apache-2.0
// Operations as the replaced intercept_timer wrote them. Layer: sink.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/label_texts.hpp>
#include <fabscope/sink/detail/row_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Writes the file that scripts for intercept_timer read: a comment with the two anchors, the names
/// of eight columns, and a row per operation; no closing comment. `error` is 1 for an operation
/// that failed or was abandoned, else 0, and a name that is not known is `?`. There is no column
/// for it, so operations without a completion to time are not written: filtered_total() has them.
/// Units: start_ns, end_ns: CLOCK_MONOTONIC since the session began; bytes.
/// Threads: one at a time.  Errors: rows that cannot be written are counted.
class FABSCOPE_VISIBLE timer_csv_sink {
 public:
  FABSCOPE_HIDDEN explicit timer_csv_sink(const file_sink_options& options) noexcept
      : file_("csv", options) {}

  FABSCOPE_HIDDEN void consume(std::span<const operation_record> batch,
                               const sink_context& about) noexcept {
    const auto head = [&](text_writer& to) noexcept {
      to.text("# anchor_mono_ns=").u64(about.anchor_monotonic_ns());
      to.text(" anchor_wall_ns=").u64(about.anchor_realtime_ns());
      to.text(
          "  (start_ns and end_ns are std::chrono::steady_clock in ns, less anchor_mono_ns)\n"
          "start_ns,end_ns,dur_ns,op,bytes,local_nic,remote_nic,error\n");
    };
    for (const operation_record& record : batch) {
      if ((record.flags & operation_record::untimed) != 0)
        ++filtered_;
      else
        file_.row(head, [&](text_writer& to) noexcept { put(to, record, about); });
    }
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { file_.flush(); }
  FABSCOPE_HIDDEN void finish(const sink_context&) noexcept {
    file_.finish([](text_writer&, const clock_snapshot&) noexcept {});
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return file_.status(); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return file_.rows_lost();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept { return filtered_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_written() const noexcept {
    return file_.rows_written();
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool capped() const noexcept { return file_.capped(); }
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return file_.error_number(); }

 private:
  FABSCOPE_HIDDEN void put(text_writer& to, const operation_record& record,
                           const sink_context& about) noexcept {
    const std::uint64_t begin = about.ns(record.header.ticks);
    const std::uint64_t end = about.ns(record.end);
    const std::uint64_t anchor = about.anchor_monotonic_ns();
    const bool good = record.error == 0 && (record.flags & operation_record::abandoned) == 0;
    to.i64(static_cast<std::int64_t>(begin - anchor)).ch(',');
    to.i64(static_cast<std::int64_t>(end - anchor)).ch(',');
    to.u64(end > begin ? end - begin : 0, ',');
    to.text(to_string(static_cast<operation>(record.op))).ch(',');
    to.u64(record.bytes, ',').text(labels_.get(record.local, about)).ch(',');
    to.text(labels_.get(record.remote, about)).text(good ? ",0\n" : ",1\n");
  }
  FABSCOPE_HIDDEN static void escape(text_writer& to, std::string_view text) noexcept {
    to.csv_field(text);
  }

  detail::row_file file_;
  detail::label_texts labels_{&escape, "?"};
  std::uint64_t filtered_ = 0;
};

FABSCOPE_NAMESPACE_END
