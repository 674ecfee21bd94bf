// SPDX-License-Identifier: Apache-2.0
// The fabric's sections of the text report. Layer: session.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/session/report_data.hpp>
#include <fabscope/session/report_fabric_text.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Receives of a NIC whose completions did not say how much came.
FABSCOPE_NOINLINE inline std::uint64_t received_without_size(const report_data& data,
                                                             std::uint32_t nic) noexcept {
  std::uint64_t sum = 0;
  for (const link_row& r : data.links) {
    if (r.nic == nic && is_posted_size(r.level)) sum += r.count;
  }
  return sum;
}

FABSCOPE_NOINLINE inline void print_nics(std::string& to, const report_data& data) {
  if (data.nics.empty()) return;
  section(to, "nics");
  report_table table(
      {"<nic", "<device", "ops", "bytes", "busy_ms", "GB/s", "line_%", "recv_ops", "recv_bytes"});
  const auto rows = sorted(data.nics, [&](const nic_row& r) { return data.key_name(r, r.nic); });
  std::string remarks;
  for (const nic_row& r : rows) {
    const std::uint64_t bytes = r.out_bytes + r.in_bytes;
    const double busy = data.ns(r.busy);
    const bool has_busy = r.busy != 0;
    std::string share = unknown_text;
    if (has_busy && r.line_rate != 0) {
      share = decimal(
          static_cast<double>(bytes) * 8e9 / busy / static_cast<double>(r.line_rate) * 100, 1);
    }
    const bool idle = r.out_ops + r.in_ops == 0;  // only receives: nothing to be busy with
    const std::uint64_t unsized = received_without_size(data, r.nic);
    table.add({data.key_name(r, r.nic), data.name(static_cast<std::uint32_t>(r.device)),
               whole(r.out_ops + r.in_ops), whole(bytes),
               has_busy ? millis(busy) : (idle ? "-" : unknown_text),
               has_busy ? gigabytes(static_cast<double>(bytes), busy) : (idle ? "-" : unknown_text),
               idle ? "-" : share, whole(r.received_ops),
               unsized == 0 ? whole(r.received_bytes) : unknown_text});
    if (unsized != 0) {
      remarks += "# " + data.key_name(r, r.nic) + ": " + whole(unsized) +
                 " receives completed without their size; the others brought " +
                 whole(r.received_bytes) + " bytes\n";
    }
    if (r.busy_uncertain != 0) {
      remarks += "# " + data.key_name(r, r.nic) + ": busy from " + millis(busy) + " to " +
                 millis(busy + data.ns(r.busy_uncertain)) + " ms\n";
    }
  }
  table.print(to);
  to += remarks;
}

/// All peers of a NIC together, with fine quantiles.
FABSCOPE_NOINLINE inline void print_kinds(std::string& to, const report_data& data) {
  if (data.kinds.empty()) return;
  section(to, "operations");
  report_table table(
      {"<nic", "<kind", "size", "<level", "count", "p50_us", "p90_us", "p99_us", "p99.9_us"});
  const auto rows = sorted(data.kinds, [&](const nic_histogram_row& r) {
    return std::tuple(data.key_name(r, r.nic), kind_of(r), r.size, r.level);
  });
  for (const nic_histogram_row& r : rows) {
    std::uint64_t count = 0;
    for (const std::uint32_t n : r.histogram) count += n;
    const auto quantile = [&](double q) {
      constexpr int bits = 6;
      return count == 0 ? unknown_text : micros(data.ns(quantile_of<bits>(r.histogram, q)));
    };
    const std::string size = is_posted_size(r.level) ? unknown_text : size_text(r.size);
    table.add({data.key_name(r, r.nic), kind_of(r), size, level_of(r.level), whole(count),
               quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999)});
  }
  table.print(to);
}

/// A line per pair of addresses, under it a row per kind and size, and a row
/// per kind that failed.
FABSCOPE_NOINLINE inline void print_links(std::string& to, const report_data& data) {
  const std::vector<link_line> lines = link_lines(data);
  if (lines.empty()) return;
  section(to, "links");
  report_table table({"<kind", "size", "count", "bytes", "errors", "min_us", "p50_us", "p99_us",
                      "avg_us", "max_us", "GB/s", "<level"},
                     2);
  const link_line* above = nullptr;
  for (const link_line& line : lines) {
    if (above == nullptr || above->local != line.local || above->remote != line.remote ||
        above->nic != line.nic) {
      table.line(line.local + " -> " + line.remote + "  nic " + line.nic);
    }
    above = &line;
    table.add(line.cells);
  }
  table.print(to);
  to +=
      "# size: bytes / count, with ~ if that is a mean. receives: from posting to completion.\n"
      "# level posted: receives whose completion does not say how much came. "
      "~: concluded from a counter.\n"
      "# p50, p99: with < if only a limit is known; section operations has them by NIC.\n";
}

FABSCOPE_NOINLINE inline void print_errors(std::string& to, const report_data& data) {
  report_table failed({"<kind", "<error", "<stage", "count", "bytes", "<local", "<remote"});
  report_table again({"<kind", "retries", "stall_ms", "longest_ms", "<local", "<remote"});
  report_table closed({"<kind", "count", "bytes", "<local", "<remote"});
  const auto rows = sorted(data.errors, [&](const link_error_row& r) {
    return std::tuple(~r.count, kind_of(r), r.error, r.stage, data.key_name(r, r.local),
                      data.key_name(r, r.remote));
  });
  for (const link_error_row& r : rows) {
    const std::string local = data.key_name(r, r.local);
    const std::string remote = data.key_name(r, r.remote);
    const auto stage = static_cast<failure_stage>(r.stage);
    if (is_retry(r)) {
      again.add({kind_of(r), whole(r.count), millis(data.ns(r.stall)), millis(data.ns(r.stall_max)),
                 local, remote});
    } else if (stage == failure_stage::closed) {
      closed.add({kind_of(r), whole(r.count), whole(r.bytes), local, remote});
    } else {
      failed.add({kind_of(r), error_name(r.error),
                  stage == failure_stage::issue ? "issue" : "completion", whole(r.count),
                  whole(r.bytes), local, remote});
    }
  }
  const auto print = [&](const report_table& table, const char* title) {
    if (table.empty()) return;
    section(to, title);
    table.print(to);
  };
  print(failed, "errors");
  print(closed, "never completed");
  print(again, "retries");

  report_table untimed({"<reason", "<of", "count"});
  for (const tally_row& r : sorted(data.tallies, [&](const tally_row& t) {
         return std::tuple(~t.count, data.key_name(t, t.what), data.key_name(t, t.subject));
       })) {
    untimed.add({data.key_name(r, r.what), data.key_name(r, r.subject), whole(r.count)});
  }
  print(untimed, "not timed");
}

/// What an application does with a NIC before data flows.
FABSCOPE_NOINLINE inline void print_set_up(std::string& to, const report_data& data) {
  report_table connections({"<local", "<remote", "<nic", "count", "avg_us", "max_us"});
  for (const connection_row& r : sorted(data.connections, [&](const connection_row& c) {
         return std::tuple(data.key_name(c, c.local), data.key_name(c, c.remote),
                           data.key_name(c, c.nic));
       })) {
    connections.add(
        {data.key_name(r, r.local), data.key_name(r, r.remote), data.key_name(r, r.nic),
         whole(r.count),
         r.count == 0 ? unknown_text : micros(data.ns(r.sum) / static_cast<double>(r.count)),
         micros(data.ns(r.max))});
  }
  if (!connections.empty()) {
    section(to, "connections");
    connections.print(to);
  }
  report_table registered({"<nic", "count", "bytes", "failed", "avg_us", "max_us"});
  for (const registration_row& r : sorted(data.registrations, [&](const registration_row& m) {
         return data.key_name(m, m.nic);
       })) {
    registered.add(
        {data.key_name(r, r.nic), whole(r.count), whole(r.bytes), whole(r.failed),
         r.count == 0 ? unknown_text : micros(data.ns(r.sum) / static_cast<double>(r.count)),
         micros(data.ns(r.max))});
  }
  if (!registered.empty()) {
    section(to, "memory registration");
    registered.print(to);
  }
}

/// The bucket in which a quantile of the gaps lies, as its upper end.
inline std::string gap_quantile(const cq_row& row, double q) {
  constexpr const char* ends[cq_row::gap_buckets] = {"<10us", "<100us", "<1ms",
                                                     "<10ms", "<100ms", ">=100ms"};
  std::uint64_t total = 0;
  for (const std::uint64_t n : row.gap) total += n;
  std::uint64_t below = 0;
  for (std::size_t i = 0; total != 0 && i < cq_row::gap_buckets; ++i) {
    below += row.gap[i];
    if (static_cast<double>(below) >= q * static_cast<double>(total)) return ends[i];
  }
  return unknown_text;
}

FABSCOPE_NOINLINE inline void print_queues(std::string& to, const report_data& data) {
  if (data.queues.empty()) return;
  section(to, "completion queues");
  report_table table({"<cq", "tid", "polls", "entries", "empty", "<10us", "<100us", "<1ms", "<10ms",
                      "<100ms", ">=100ms", "longest_ms", "at_s"});
  report_table reads({"<cq", "tid", "per_read", "most", "capacity", "overruns", "errors", "waits",
                      "waited_ms", "p50", "p99", "p99.9"});
  for (const cq_row& r : sorted(data.queues, [&](const cq_row& q) {
         return std::tuple(~q.longest, data.key_name(q, q.cq), data.key_name(q, q.nic), q.thread);
       })) {
    std::vector<std::string> cells{data.key_name(r, r.cq), data.tid(r.thread), whole(r.polls),
                                   whole(r.entries),
                                   whole(r.polls > r.productive ? r.polls - r.productive : 0)};
    bool any = false;
    for (const std::uint64_t n : r.gap) {
      any |= n != 0;
      cells.push_back(whole(n));
    }
    cells.push_back(any ? millis(data.ns(r.longest)) : unknown_text);
    cells.push_back(any ? "+" + data.since_begin(r.longest_end) : unknown_text);
    table.add(std::move(cells));
    const double each =
        r.productive == 0 ? 0 : static_cast<double>(r.entries) / static_cast<double>(r.productive);
    reads.add({data.key_name(r, r.cq), data.tid(r.thread),
               r.productive == 0 ? "-" : decimal(each, 2), whole(r.most),
               r.capacity == 0 ? unknown_text : whole(r.capacity), whole(r.overruns),
               whole(r.errors), whole(r.blocking), millis(data.ns(r.blocked)), gap_quantile(r, 0.5),
               gap_quantile(r, 0.99), gap_quantile(r, 0.999)});
  }
  table.print(to);
  section(to, "reads of completion queues");
  reads.print(to);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
