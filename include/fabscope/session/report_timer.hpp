// SPDX-License-Identifier: Apache-2.0
// The text report in the lines of the replaced intercept_timer. Layer: session.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/session/report_data.hpp>
#include <fabscope/session/report_fabric_text.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// A line of that report, from a format of printf's.
template <class... Args>
void timer_line(std::string& to, const char* format, Args... args) {
  char text[1024];
  const int size = std::snprintf(text, sizeof text, format, args...);
  if (size <= 0) return;
  to += "[intercept_timer] ";
  to.append(text, static_cast<std::size_t>(size) < sizeof text ? static_cast<std::size_t>(size)
                                                               : sizeof text - 1);
  to += '\n';
}

/// Operations of one kind and size between two addresses, all levels and NICs together.
struct timer_row {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;
  double sum = 0;  // ns, as the others
  double min = 0;
  double max = 0;

  void add(std::uint64_t many, std::uint64_t amount, double whole, double least, double most) {
    min = count == 0 || least < min ? least : min;
    max = most > max ? most : max;
    count += many;
    bytes += amount;
    sum += whole;
  }
};
/// local, remote, kind, size; failures by their mean size.
using timer_rows =
    std::map<std::tuple<std::string, std::string, std::uint8_t, std::uint64_t>, timer_row>;

inline timer_rows timer_rows_of(const report_data& data) {
  // Rows of one size class belong together, and are named after the mean size of what is in them.
  std::map<std::tuple<std::string, std::string, std::uint8_t, std::uint8_t>, timer_row> classes;
  for (const link_row& r : data.links) {
    if (r.level == level_untimed || r.used == row_is_other || r.count == 0) continue;
    classes[{data.key_name(r, r.local), data.key_name(r, r.remote), r.op, r.size}].add(
        r.count, r.bytes, data.ns(r.sum), data.ns_of_least(r.inverted_min), data.ns(r.max));
  }
  timer_rows out;
  for (const auto& [key, row] : classes) {
    const auto& [local, remote, op, size] = key;
    out[{local, remote, op, (row.bytes + row.count / 2) / row.count}] = row;
  }
  for (const link_error_row& r : data.errors) {
    if (is_retry(r) || r.used == row_is_other || r.count == 0) continue;
    out[{data.key_name(r, r.local), data.key_name(r, r.remote), r.op, r.bytes / r.count}].errors +=
        r.count;
  }
  return out;
}

inline void print_timer_nics(std::string& to, const report_data& data) {
  for (const nic_row& r :
       sorted(data.nics, [&](const nic_row& n) { return data.key_name(n, n.nic); })) {
    const std::uint64_t ops = r.out_ops + r.in_ops;
    const std::uint64_t bytes = r.out_bytes + r.in_bytes;
    const double busy = data.ns(r.busy);
    if (ops == 0 && r.busy == 0) continue;
    timer_line(to, "NIC %-26s %10llu ops  %16llu bytes  busy %12.3f ms  achieved %8.3f GB/s",
               data.key_name(r, r.nic).c_str(), static_cast<unsigned long long>(ops),
               static_cast<unsigned long long>(bytes), busy / 1e6,
               busy > 0 ? static_cast<double>(bytes) / busy : 0.0);
  }
}

inline void print_timer_queues(std::string& to, const report_data& data) {
  struct queue {
    std::uint64_t polls = 0;
    std::uint64_t gap[cq_row::gap_buckets] = {};
    std::uint64_t longest = 0;
    std::uint64_t longest_end = 0;
    bool any = false;
  };
  std::map<std::pair<std::size_t, std::string>, queue> queues;  // "cq 2" before "cq 10"
  for (const cq_row& r : data.queues) {
    const std::string name = data.key_name(r, r.cq);
    queue& one = queues[{name.size(), name}];
    one.polls += r.polls;
    for (std::size_t i = 0; i < cq_row::gap_buckets; ++i) {
      one.gap[i] += r.gap[i];
      one.any |= r.gap[i] != 0;
    }
    if (r.longest < one.longest) continue;
    one.longest = r.longest;
    one.longest_end = r.longest_end;
  }
  unsigned number = 0;
  for (const auto& one : queues) {
    const queue& q = one.second;
    const unsigned at = number++;
    if (!q.any) continue;
    const auto n = [&](std::size_t i) { return static_cast<unsigned long long>(q.gap[i]); };
    timer_line(to,
               "CQ#%u polls %llu  gaps: <10us %llu  <100us %llu  <1ms %llu  <10ms %llu  <100ms "
               "%llu  >=100ms %llu  max %.3f ms at t+%s s",
               at, static_cast<unsigned long long>(q.polls), n(0), n(1), n(2), n(3), n(4), n(5),
               data.ns(q.longest) / 1e6, data.since_begin(q.longest_end).c_str());
  }
}

inline void print_timer_links(std::string& to, const report_data& data) {
  const std::pair<std::string, std::string>* above = nullptr;
  std::pair<std::string, std::string> ends;
  for (const auto& [key, row] : timer_rows_of(data)) {
    const auto& [local, remote, op, size] = key;
    if (above == nullptr || ends.first != local || ends.second != remote) {
      ends = {local, remote};
      above = &ends;
      timer_line(to, "=== %s -> %s ===", local.c_str(), remote.c_str());
    }
    const auto count = static_cast<double>(row.count);
    char errors[40] = "";
    if (row.errors != 0) {
      std::snprintf(errors, sizeof errors, "  [%llu err]",
                    static_cast<unsigned long long>(row.errors));
    }
    timer_line(to,
               "  %-12s %10llu B  %8llu ops  avg %9.3f us  min %9.3f  max %9.3f us  ~%7.3f GB/s%s",
               to_string(static_cast<operation>(op)), static_cast<unsigned long long>(size),
               static_cast<unsigned long long>(row.count),
               row.count == 0 ? 0.0 : row.sum / count / 1e3, row.min / 1e3, row.max / 1e3,
               row.sum > 0 ? static_cast<double>(row.bytes) / row.sum : 0.0, errors);
  }
}

/// Empty where no fabric was used. Sizes are exact where all operations of a power-of-two class had
/// the same, else their mean. There is no share of immediate receives: 50 us say nothing about
/// when a message came.
inline std::string render_timer_report(const segment_view& view, const report_extra& extra) {
  const report_data data(view, extra);
  if (data.nics.empty() && data.links.empty() && data.queues.empty()) return {};
  const segment_format::header& head = view.head();
  std::string text;
  timer_line(text, "host=%s rank=%s pid=%d", entry_text(head.host).data(),
             head.rank < 0 ? "NA" : std::to_string(head.rank).c_str(), head.pid);
  print_timer_nics(text, data);
  print_timer_queues(text, data);
  print_timer_links(text, data);
  std::uint64_t untimed = 0;
  for (const tally_row& r : data.tallies) untimed += r.count;
  if (untimed != 0) {
    timer_line(text, "%llu ops not timed: the report.txt of fabscope has the reasons",
               static_cast<unsigned long long>(untimed));
  }
  return text;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
