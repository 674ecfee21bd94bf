// SPDX-License-Identifier: Apache-2.0
// Collectives in the text report. Layer: session.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/session/report_data.hpp>
#include <fabscope/stats/bandwidth.hpp>
#include <fabscope/stats/collective_rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// The largest number of bytes in a class, for example "<64KiB".
inline std::string collective_size(std::uint8_t bits) {
  if (bits == 0) return "0";
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return "<" + std::to_string(1U << bits % 10) + units[bits / 10];
}

FABSCOPE_NOINLINE inline void print_collectives(std::string& to, const report_data& data) {
  const std::vector<collective_row> rows = merged_rows<collective_row>(data.view);
  if (!rows.empty()) {
    section(to, "collectives");
    report_table table({"<function", "size", "count", "bytes", "min_us", "p50_us", "avg_us",
                        "max_us", "algGB/s", "busGB/s", "<method", "<timing", "part"},
                       2);
    const auto key = [&](const collective_row& r) {
      return std::tuple(data.key_name(r, r.communicator), r.communicator, r.function, r.size,
                        r.method, r.source);
    };
    std::uint32_t above = 0;
    bool first = true;
    for (const collective_row& r : sorted(rows, key)) {
      const auto comm = communicator_text::parse(data.view.label(r.communicator));
      if (first || above != r.communicator) {
        std::string title = "communicator " + data.key_name(r, r.communicator);
        if (!comm.id.empty()) {
          title = "communicator " + std::string(comm.id) + "  name " + word(comm.name) + "  rank " +
                  whole(comm.rank) + " of " + whole(comm.ranks) + "  nodes " + whole(comm.nodes) +
                  "  generation " + whole(comm.generation);
        }
        table.line(title);
      }
      first = false;
      above = r.communicator;
      const auto kind = static_cast<collective>(r.function);
      const auto source = static_cast<timing_source>(r.source);
      const bool timed = source == timing_source::kernel_gpu || source == timing_source::kernel_cpu;
      const bandwidth speed =
          timed ? bandwidth_of_call(kind, {r.bytes}, comm.ranks, r.longest) : bandwidth{};
      const auto us = [&](double ns) { return timed && r.count != 0 ? micros(ns) : unknown_text; };
      const auto rate = [&](byte_rate one) {
        return speed.known ? decimal(one.gigabytes_per_second(), 3) : unknown_text;
      };
      std::uint64_t median = quantile_of<2>(r.histogram, 0.5);
      if (median > r.max) median = r.max;
      if (r.inverted_min != 0 && median < ~r.inverted_min) median = ~r.inverted_min;
      std::string method = "-";
      if (!is_point_to_point(kind)) {
        method = std::string(algorithm_names.at(r.method & 15U)) + "/" +
                 std::string(protocol_names.at(r.method >> 4));
      }
      table.add({kind == collective::none ? unknown_text : to_string(kind), collective_size(r.size),
                 whole(r.count), whole(r.bytes),
                 us(r.inverted_min == 0 ? 0 : static_cast<double>(~r.inverted_min)),
                 us(static_cast<double>(median)),
                 us(r.count == 0 ? 0 : static_cast<double>(r.span) / static_cast<double>(r.count)),
                 us(static_cast<double>(r.max)), rate(speed.algorithm), rate(speed.bus), method,
                 to_string(source), whole(r.incomplete)});
    }
    table.print(to);
    to +=
        "# times: from the first channel's start to the last one's stop; GB/s: by the longest "
        "channel.\n"
        "# timing collective_cpu: only counted, the host was not asked for kernels or did not "
        "report them.\n"
        "# part: operations of which fewer channels reported than the host had announced.\n";
  }
  report_table unused({"<reason", "<event", "count"});
  for (const event_tally_row& r :
       sorted(merged_rows<event_tally_row>(data.view), [&](const event_tally_row& t) {
         return std::tuple(~t.count, data.key_name(t, t.reason), data.key_name(t, t.event));
       })) {
    unused.add({data.key_name(r, r.reason), data.key_name(r, r.event), whole(r.count)});
  }
  if (unused.empty()) return;
  section(to, "collective events not used");
  unused.print(to);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
