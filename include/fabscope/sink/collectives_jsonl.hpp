// SPDX-License-Identifier: Apache-2.0
// One JSON object per collective and point-to-point operation, one per line. Layer: sink.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <fabscope/clock/steady_clock.hpp>
#include <fabscope/event/cause.hpp>
#include <fabscope/event/collective_record.hpp>
#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/row_file.hpp>
#include <fabscope/stats/bandwidth.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Writes `coll.jsonl` with the keys, nesting and types of NCCL's and RCCL's inspector (format
/// v4.2) and keys of ours behind them; the last line has `dump_stats`. Its first line has only
/// `metadata`.
///
/// Units: in the keys. `coll_exec_time_us` and the bandwidths are of the longest channel, as the
/// inspector has them; the bandwidths are null where the time is not that of the kernel.
/// Threads: one at a time.
/// Errors: rows that cannot be written are counted; status() has the first error.
class FABSCOPE_VISIBLE collectives_jsonl_sink {
 public:
  static constexpr const char* inspector_version = "v4.2";

  FABSCOPE_HIDDEN explicit collectives_jsonl_sink(const file_sink_options& options) noexcept
      : file_("coll.jsonl", options) {}

  FABSCOPE_HIDDEN void consume(std::span<const collective_record> batch,
                               const sink_context& about) noexcept {
    const std::uint64_t now_us = realtime_ns() / 1000;
    const auto head = [&](text_writer& to) noexcept {
      to.ch('{');
      put_metadata(to, now_us);
      to.text(",\"fabscope\":{\"version\":\"" FABSCOPE_VERSION_STRING "\",\"anchor_mono_ns\":");
      to.u64(about.anchor_monotonic_ns()).text(",\"anchor_wall_ns\":");
      to.u64(about.anchor_realtime_ns()).text("}}\n");
    };
    for (const collective_record& record : batch) {
      const bool kept =
          file_.row(head, [&](text_writer& to) noexcept { put(to, record, now_us, about); });
      const std::size_t kind = is_point_to_point(record.function()) ? 1 : 0;
      ++records_[kind];
      if (!kept) ++dropped_[kind];
    }
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { file_.flush(); }

  FABSCOPE_HIDDEN void finish(const sink_context&) noexcept {
    file_.finish([&](text_writer& to, const clock_snapshot& end) noexcept {
      to.ch('{');
      put_metadata(to, end.realtime_ns / 1000);
      to.text(",\"dump_stats\":{\"coll_records\":").u64(records_[0] - dropped_[0]);
      to.text(",\"coll_dropped_total\":").u64(dropped_[0]);
      to.text(",\"coll_dropped_since_last_dump\":").u64(dropped_[0]);
      to.text(",\"p2p_records\":").u64(records_[1] - dropped_[1]);
      to.text(",\"p2p_dropped_total\":").u64(dropped_[1]);
      to.text(",\"p2p_dropped_since_last_dump\":").u64(dropped_[1]);
      to.text(",\"rows\":").u64(file_.rows_written()).text(",\"lost\":").u64(file_.rows_lost());
      to.text("}}\n");
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
  FABSCOPE_HIDDEN void put(text_writer& to, const collective_record& record, std::uint64_t now_us,
                           const sink_context& about) const noexcept {
    const auto comm = communicator_text::parse(about.label(record.communicator));
    const bool pair = is_point_to_point(record.function());
    to.text("{\"header\":{\"id\":");
    put_id(to, comm.id);
    to.text(",\"comm_name\":").json_string(comm.name.empty() ? "unknown" : comm.name);
    to.text(",\"rank\":").u64(comm.rank).text(",\"n_ranks\":").u64(comm.ranks);
    to.text(",\"nnodes\":").u64(comm.nodes).text("},");
    put_metadata(to, now_us);
    const std::string_view key = pair ? "p2p" : "coll";
    const auto name = [&](std::string_view rest) noexcept {
      to.text(",\"").text(key).text(rest).text("\":");
    };
    to.text(pair ? ",\"p2p_perf\":{\"p2p\":\"" : ",\"coll_perf\":{\"coll\":\"");
    to.text(record.function() == collective::none ? "Unknown" : to_string(record.function()));
    to.ch('"');
    if (!pair) {
      to.text(",\"coll_algo\":\"").text(algorithm_names.at(record.algorithm()));
      to.text("\",\"coll_proto\":\"").text(protocol_names.at(record.protocol())).ch('"');
    }
    name("_sn");
    to.u64(record.sequence);
    if (pair) to.text(",\"p2p_peer\":").i64(record.peer);
    name("_msg_size_bytes");
    to.u64(record.bytes);
    name("_exec_time_us");
    to.u64(record.longest_ns / 1000);
    name("_timing_source");
    to.ch('"').text(to_string(record.source())).ch('"');
    const bool timed = record.source() == timing_source::kernel_gpu ||
                       record.source() == timing_source::kernel_cpu;
    const bandwidth speed =
        timed ? bandwidth_of_call(record.function(), {record.bytes}, comm.ranks, record.longest_ns)
              : bandwidth{};
    name("_algobw_gbs");
    put_speed(to, speed.algorithm, speed.known);
    name("_busbw_gbs");
    put_speed(to, speed.bus, speed.known);
    name("_start_ns");
    to.u64(about.ns(record.header.ticks));
    name("_span_ns");
    to.u64(record.span_ns);
    name("_longest_channel_ns");
    to.u64(record.longest_ns);
    name("_channels");
    to.u64(record.channels);
    name("_incomplete");
    to.text((record.flags & collective_record::incomplete) != 0 ? "true" : "false");
    name("_datatype");
    to.ch('"').text(datatype_names.at(record.datatype())).ch('"');
    if (!pair) to.text(",\"coll_root\":").i64(record.peer);
    name("_captured");
    to.text((record.flags & collective_record::captured) != 0 ? "true" : "false");
    name("_scope");
    if (const cause parent(record.parent); parent.kind() == cause_kind::scope)
      to.json_string(about.label(parent.label()));
    else
      to.text("null");
    name("_comm_generation");
    to.u64(comm.generation);
    to.text("}}\n");
  }

 private:
  FABSCOPE_HIDDEN static void put_id(text_writer& to, std::string_view id) noexcept {
    if (id.size() < 3) {
      to.text("null");
      return;
    }
    id.remove_prefix(2);
    while (id.size() > 1 && id.front() == '0') id.remove_prefix(1);
    to.text("\"0x").text(id).ch('"');
  }
  FABSCOPE_HIDDEN static void put_speed(text_writer& to, byte_rate speed, bool known) noexcept {
    if (known)
      to.json_number(speed.gigabytes_per_second());
    else
      to.text("null");
  }
  FABSCOPE_HIDDEN void put_metadata(text_writer& to, std::uint64_t now_us) const noexcept {
    to.text("\"metadata\":{\"inspector_output_format_version\":\"").text(inspector_version);
    to.text("\",\"git_rev\":\"\",\"rec_mechanism\":\"nccl_profiler_interface\"");
    to.text(",\"dump_timestamp_us\":").u64(now_us);
    to.text(",\"hostname\":").json_string(file_.options().host);
    to.text(",\"pid\":").i64(file_.options().pid).ch('}');
  }

  detail::row_file file_;
  std::uint64_t records_[2] = {};  ///< collectives, point-to-point operations
  std::uint64_t dropped_[2] = {};
};

FABSCOPE_NAMESPACE_END
