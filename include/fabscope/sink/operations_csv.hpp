// SPDX-License-Identifier: Apache-2.0
// One row of CSV per operation of a fabric. Layer: sink.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <fabscope/event/cause.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/label_texts.hpp>
#include <fabscope/sink/detail/row_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

// With their lengths, so that no row has to look for the end of one.
inline constexpr auto operation_names = [] {
  std::array<std::string_view, static_cast<std::size_t>(operation::count_)> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_string(static_cast<operation>(i));
  return out;
}();
inline constexpr auto level_names = [] {
  std::array<std::string_view, static_cast<std::size_t>(completion_level::commit) + 1> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_string(static_cast<completion_level>(i));
  }
  return out;
}();
template <std::size_t N>
constexpr std::string_view name_in(const std::array<std::string_view, N>& names,
                                   std::size_t number) noexcept {
  return number < N ? names[number] : "unknown";
}

}  // namespace detail

/// Writes `ops.csv`: a comment with the anchors, the names of the columns, a row per operation, a
/// comment with the counts and the clocks at the end. A name that is not known is `unknown`. Behind
/// a sampling_sink the first line says so, and a column `weight` is the last one.
/// Units: start_ns, end_ns: CLOCK_MONOTONIC since the session began; bytes of payload.
/// Threads: one at a time.  Errors: rows that cannot be written are counted; status() has the
/// first. Cost: docs/overhead.md, row csv_row; allocates when a label is first seen.
class FABSCOPE_VISIBLE operations_csv_sink {
 public:
  /// Operations below `min_bytes` that neither failed nor were abandoned are counted as filtered
  /// and not written.
  FABSCOPE_HIDDEN explicit operations_csv_sink(const file_sink_options& options,
                                               std::uint64_t min_bytes = 0) noexcept
      : file_("ops.csv", options), min_bytes_(min_bytes) {}

  FABSCOPE_HIDDEN void consume(std::span<const operation_record> batch,
                               const sink_context& about) noexcept {
    const auto head = [&](text_writer& writer) noexcept { put_head(writer, about); };
    if (about.one_in() != 1) sampled_ = true;
    std::uint32_t thread = ~0U;
    std::uint32_t tid = 0;
    for (const operation_record& record : batch) {
      const bool good = record.error == 0 && (record.flags & operation_record::abandoned) == 0;
      if (record.bytes < min_bytes_ && good) {
        ++filtered_;
        continue;
      }
      if (record.header.thread != thread) {
        thread = record.header.thread;
        tid = about.tid(thread);
      }
      file_.row(head, [&](text_writer& writer) noexcept { put(writer, record, tid, about); });
    }
  }

  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { file_.flush(); }

  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    file_.finish([&](text_writer& writer, const clock_snapshot& end) noexcept {
      writer.text("# end rows=").u64(file_.rows_written()).text(" lost=").u64(file_.rows_lost());
      writer.text(" filtered=")
          .u64(filtered_ + about.held_back())
          .text(" end_mono_ns=")
          .u64(end.monotonic_ns);
      writer.text(" end_boot_ns=").u64(end.boottime_ns).text(" end_wall_ns=").u64(end.realtime_ns);
      writer.ch('\n');
    });
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

  /// The row of one record, with its line end.
  FABSCOPE_HIDDEN void put(text_writer& to, const operation_record& record, std::uint32_t tid,
                           const sink_context& about) noexcept {
    const std::uint64_t begin = about.ns(record.header.ticks);
    const std::uint64_t end = about.ns(record.end);
    const std::uint64_t anchor = about.anchor_monotonic_ns();
    to.i64(static_cast<std::int64_t>(begin - anchor)).ch(',');
    to.i64(static_cast<std::int64_t>(end - anchor)).ch(',');
    to.u64(end > begin ? end - begin : 0, ',');
    to.name(detail::name_in(detail::operation_names, record.op)).ch(',');
    to.u64(record.bytes, ',').name(labels_.get(record.local, about)).ch(',');
    to.name(labels_.get(record.remote, about)).ch(',').i64(record.error).ch(',');
    to.name(labels_.get(record.nic, about)).ch(',');
    to.name(level_of(record)).ch(',');
    if (record.flags != 0) put_flags(to, record.flags);
    to.ch(',').u64(record.retries, ',').u64(tid, ',');
    if (const cause parent(record.parent); parent.kind() != cause_kind::none) {
      to.name(labels_.get(parent.label(), about));
    }
    if (sampled_) to.ch(',').u64(about.weight());
    to.ch('\n');
  }

 private:
  /// No completion, no promise: what an untimed operation has in its place has no name.
  FABSCOPE_HIDDEN static std::string_view level_of(const operation_record& record) noexcept {
    if ((record.flags & operation_record::untimed) != 0) return "untimed";
    return detail::name_in(detail::level_names, record.level);
  }
  FABSCOPE_HIDDEN void put_head(text_writer& to, const sink_context& about) const noexcept {
    to.text("# anchor_mono_ns=").u64(about.anchor_monotonic_ns());
    to.text(" anchor_wall_ns=").u64(about.anchor_realtime_ns());
    to.text(
        "  (start_ns/end_ns count from anchor_mono_ns on std::chrono::steady_clock, which is "
        "CLOCK_MONOTONIC; a steady_clock stamp of the same process minus anchor_mono_ns lies on "
        "the same axis; fabscope=" FABSCOPE_VERSION_STRING);
    if (sampled_) to.text("; sampled one in ").u64(about.one_in());
    to.text(
        ")\nstart_ns,end_ns,dur_ns,op,bytes,local_nic,remote_nic,error,nic,level,flags,retries,"
        "tid,scope");
    to.text(sampled_ ? ",weight\n" : "\n");
  }
  FABSCOPE_HIDDEN static void put_flags(text_writer& to, unsigned flags) noexcept {
    constexpr const char* names[] = {"abandoned", "inferred", "untimed", "posted_size"};
    const char* between = "";
    for (unsigned bit = 0; bit < std::size(names); ++bit) {
      if ((flags & 1U << bit) == 0) continue;
      to.text(between).text(names[bit]);
      between = "|";
    }
  }
  FABSCOPE_HIDDEN static void escape(text_writer& to, std::string_view text) noexcept {
    to.csv_field(text);
  }

  detail::row_file file_;
  detail::label_texts labels_{&escape, "unknown"};
  std::uint64_t min_bytes_;
  std::uint64_t filtered_ = 0;
  bool sampled_ = false;
};

FABSCOPE_NAMESPACE_END
