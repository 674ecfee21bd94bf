// SPDX-License-Identifier: Apache-2.0
// One JSON object per scope, step and attribute, one per line. Layer: sink.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <fabscope/event/attribute_record.hpp>
#include <fabscope/event/cause.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/label_texts.hpp>
#include <fabscope/sink/detail/row_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Writes `scopes.jsonl`: an object with format and anchors, an object per record (those of one
/// type and one thread in their order), an object with the counts and the clocks at the end. Behind
/// a sampling_sink the first object says so, and each line has its `weight`.
///
/// Units: names ending in _ns are CLOCK_MONOTONIC nanoseconds, not since anything.
/// Threads: one at a time.
/// Errors: rows that cannot be written are counted; status() has the first error.
/// Cost: docs/overhead.md, row json_line; allocates when a label is first seen.
class FABSCOPE_VISIBLE scopes_jsonl_sink {
 public:
  static constexpr int format_version = 1;

  FABSCOPE_HIDDEN explicit scopes_jsonl_sink(const file_sink_options& options) noexcept
      : file_("scopes.jsonl", options) {}

  FABSCOPE_HIDDEN void consume(std::span<const scope_record> batch,
                               const sink_context& about) noexcept {
    write(batch, about);
  }
  FABSCOPE_HIDDEN void consume(std::span<const step_record> batch,
                               const sink_context& about) noexcept {
    write(batch, about);
  }
  FABSCOPE_HIDDEN void consume(std::span<const attribute_record> batch,
                               const sink_context& about) noexcept {
    write(batch, about);
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { file_.flush(); }

  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    file_.finish([&](text_writer& writer, const clock_snapshot& end) noexcept {
      writer.text("{\"type\":\"end\",\"rows\":").u64(file_.rows_written());
      writer.text(",\"lost\":").u64(file_.rows_lost());
      writer.text(",\"filtered\":").u64(about.held_back());
      writer.text(",\"end_mono_ns\":").u64(end.monotonic_ns);
      writer.text(",\"end_boot_ns\":").u64(end.boottime_ns);
      writer.text(",\"end_wall_ns\":").u64(end.realtime_ns).text("}\n");
    });
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return file_.status(); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return file_.rows_lost();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_written() const noexcept {
    return file_.rows_written();
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool capped() const noexcept { return file_.capped(); }
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return file_.error_number(); }

  /// The line of one record, with its line end.
  FABSCOPE_HIDDEN void put(text_writer& to, const scope_record& record, std::uint32_t tid,
                           const sink_context& about) noexcept {
    to.text("{\"type\":\"scope\",\"domain\":").name(labels_.get(record.domain, about));
    to.text(",\"name\":").name(labels_.get(record.name, about));
    put_times(to, about.ns(record.header.ticks), about.ns(record.end));
    to.text(",\"bytes\":").u64(record.bytes).text(",\"value\":").i64(record.value);
    to.text(",\"depth\":").u64(record.depth).text(",\"tid\":").u64(tid);
    to.text(",\"number\":").u64(record.number).text(",\"parent\":");
    put_cause(to, cause(record.parent), about);
    put_end(to, about);
  }
  FABSCOPE_HIDDEN void put(text_writer& to, const step_record& record, std::uint32_t tid,
                           const sink_context& about) noexcept {
    to.text("{\"type\":\"step\",\"number\":").i64(record.number);
    put_times(to, about.ns(record.header.ticks), about.ns(record.end));
    to.text(",\"tid\":").u64(tid);
    put_end(to, about);
  }
  /// `scope` names the innermost scope at that moment.
  FABSCOPE_HIDDEN void put(text_writer& to, const attribute_record& record, std::uint32_t tid,
                           const sink_context& about) noexcept {
    to.text("{\"type\":\"attribute\",\"domain\":").name(labels_.get(record.domain, about));
    to.text(",\"name\":").name(labels_.get(record.name, about)).text(",\"value\":");
    switch (static_cast<attribute_kind>(record.kind)) {
      case attribute_kind::integer: to.i64(record.integer); break;
      case attribute_kind::real: to.json_number(record.real); break;
      case attribute_kind::text: to.name(labels_.get(record.text, about)); break;
      default: to.text("null");
    }
    to.text(",\"at_ns\":").u64(about.ns(record.header.ticks)).text(",\"tid\":").u64(tid);
    to.text(",\"scope\":");
    put_cause(to, cause(record.scope), about);
    put_end(to, about);
  }

 private:
  FABSCOPE_HIDDEN static void put_end(text_writer& to, const sink_context& about) noexcept {
    if (about.one_in() != 1) to.text(",\"weight\":").u64(about.weight());
    to.text("}\n");
  }
  FABSCOPE_HIDDEN void put_cause(text_writer& to, cause what, const sink_context& about) noexcept {
    if (what.kind() == cause_kind::none) {
      to.text("null");
      return;
    }
    to.text("{\"kind\":\"").text(name_of(what.kind())).text("\",\"name\":");
    to.name(labels_.get(what.label(), about)).text(",\"number\":").u64(what.number()).ch('}');
  }
  template <class Record>
  FABSCOPE_HIDDEN void write(std::span<const Record> batch, const sink_context& about) noexcept {
    const auto head = [&](text_writer& writer) noexcept { put_head(writer, about); };
    std::uint32_t thread = ~0U;
    std::uint32_t tid = 0;
    for (const Record& record : batch) {
      if (record.header.thread != thread) {
        thread = record.header.thread;
        tid = about.tid(thread);
      }
      file_.row(head, [&](text_writer& writer) noexcept { put(writer, record, tid, about); });
    }
  }
  FABSCOPE_HIDDEN void put_head(text_writer& to, const sink_context& about) const noexcept {
    const file_sink_options& who = file_.options();
    to.text("{\"type\":\"header\",\"format\":\"fabscope.scopes\",\"format_version\":");
    to.i64(format_version).text(",\"fabscope\":\"" FABSCOPE_VERSION_STRING "\",\"host\":");
    to.json_string(who.host).text(",\"rank\":");
    if (who.rank < 0)
      to.text("null");
    else
      to.i64(who.rank);
    to.text(",\"pid\":").i64(who.pid).text(",\"clock\":\"CLOCK_MONOTONIC\",\"anchor_mono_ns\":");
    to.u64(about.anchor_monotonic_ns()).text(",\"anchor_wall_ns\":");
    to.u64(about.anchor_realtime_ns());
    if (about.one_in() != 1) to.text(",\"sampled_one_in\":").u64(about.one_in());
    to.text("}\n");
  }
  FABSCOPE_HIDDEN static void put_times(text_writer& to, std::uint64_t begin,
                                        std::uint64_t end) noexcept {
    to.text(",\"begin_ns\":").u64(begin).text(",\"end_ns\":").u64(end);
    to.text(",\"dur_ns\":").u64(end > begin ? end - begin : 0);
  }
  FABSCOPE_HIDDEN static const char* name_of(cause_kind kind) noexcept {
    switch (kind) {
      case cause_kind::none: return "none";
      case cause_kind::scope: return "scope";
      case cause_kind::collective: return "collective";
      case cause_kind::proxy_step: return "proxy_step";
    }
    return "unknown";
  }
  FABSCOPE_HIDDEN static void escape(text_writer& to, std::string_view text) noexcept {
    to.json_string(text);
  }

  detail::row_file file_;
  detail::label_texts labels_{&escape, "null"};
};

FABSCOPE_NAMESPACE_END
