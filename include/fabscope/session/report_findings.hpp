// SPDX-License-Identifier: Apache-2.0
// "What to look at": sentences that the numbers support, the worst first. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/session/report_data.hpp>
#include <fabscope/session/report_fabric_text.hpp>
#include <fabscope/session/report_in_flight.hpp>
#include <fabscope/session/report_losses.hpp>
#include <fabscope/session/report_nic.hpp>
#include <fabscope/session/report_scopes.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// How many times longer than its fellows something must take to be named.
inline constexpr double stands_out = 1.5;

/// Failures, endings without completion and repetitions, each with its most frequent case.
inline void find_errors(std::vector<std::string>& out, const report_data& data) {
  const link_error_row* worst[3] = {};
  std::uint64_t count[3] = {};
  double stall = 0;
  for (const link_error_row& r : data.errors) {
    const std::size_t what = is_failure(r) ? 0 : (is_retry(r) ? 2 : 1);
    count[what] += r.count;
    if (what == 2) stall += data.ns(r.stall);
    const auto weight = [&](const link_error_row& row) {
      return what == 2 ? row.stall : row.count;
    };
    if (worst[what] == nullptr || weight(r) > weight(*worst[what])) worst[what] = &r;
  }
  const auto where = [&](const link_error_row& r) {
    return kind_of(r) + " " + data.key_name(r, r.local) + " -> " + data.key_name(r, r.remote);
  };
  if (count[0] != 0) {
    out.push_back(whole(count[0]) + " operations failed; most often " +
                  error_name(worst[0]->error) + " (" + whole(worst[0]->count) +
                  "): " + where(*worst[0]));
  }
  if (count[1] != 0) {
    out.push_back(whole(count[1]) +
                  " operations never completed: their endpoint was closed before; " +
                  whole(worst[1]->count) + " of them " + where(*worst[1]));
  }
  if (count[2] != 0) {
    out.push_back(whole(count[2]) + " calls had to be repeated (FI_EAGAIN), which took " +
                  millis(stall) + " ms in all; most of it " + where(*worst[2]) + ": " +
                  millis(data.ns(worst[2]->stall)) + " ms, longest " +
                  millis(data.ns(worst[2]->stall_max)) + " ms");
  }
}

inline void find_gap(std::vector<std::string>& out, const report_data& data) {
  const cq_row* worst = nullptr;
  for (const cq_row& r : data.queues) {
    if (worst == nullptr || r.longest > worst->longest) worst = &r;
  }
  if (worst == nullptr || data.ns(worst->longest) < 1e6) return;
  std::uint64_t long_ones = 0;
  for (std::size_t i = 3; i < cq_row::gap_buckets; ++i) long_ones += worst->gap[i];
  out.push_back("the longest gap between two polls of " + data.key_name(*worst, worst->cq) +
                " was " + millis(data.ns(worst->longest)) + " ms, by thread " +
                data.tid(worst->thread) + ", until +" + data.since_begin(worst->longest_end) +
                " s; " + whole(long_ones) + " gaps were 1 ms or longer");
}

/// Compares links of one kind, size and level with the others on the same NIC, by the mean. Of
/// those that stand out, the one that lost most time in all is named.
inline void find_slow_link(std::vector<std::string>& out, const report_data& data) {
  constexpr std::uint64_t enough = 20;
  const auto mean = [](const link_row& r) {
    return static_cast<double>(r.sum) / static_cast<double>(r.count);
  };
  const auto rows = sorted(data.links, [&](const link_row& r) {
    return std::tuple(r.nic, r.op, r.size, r.level, r.count == 0 ? 0.0 : mean(r),
                      data.key_name(r, r.local), data.key_name(r, r.remote));
  });
  const link_row* slowest = nullptr;
  double worst = 0;
  double usual = 0;
  std::size_t fellows = 0;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    std::vector<const link_row*> group;
    while (end < rows.size() &&
           std::tuple(rows[end].nic, rows[end].op, rows[end].size, rows[end].level) ==
               std::tuple(rows[begin].nic, rows[begin].op, rows[begin].size, rows[begin].level)) {
      const link_row& r = rows[end++];
      const bool counts = r.used == row_in_use && r.level != level_untimed && r.count >= enough &&
                          !is_receive(static_cast<operation>(r.op));
      if (counts) group.push_back(&r);
    }
    if (group.size() < 3) continue;  // of two, who would be the slow one?
    const double median = mean(*group[(group.size() - 2) / 2]);  // of all but the slowest
    const double excess = mean(*group.back()) - median;
    const double lost = excess * static_cast<double>(group.back()->count);
    if (excess < (stands_out - 1) * median || lost <= worst) continue;
    worst = lost;
    slowest = group.back();
    usual = median;
    fellows = group.size() - 1;
  }
  if (slowest == nullptr) return;
  out.push_back("the slowest link is " + data.key_name(*slowest, slowest->local) + " -> " +
                data.key_name(*slowest, slowest->remote) + ": " + kind_of(*slowest) + " of " +
                mean_size(slowest->bytes, slowest->count) + " B takes " +
                micros(data.view.span_ns(mean(*slowest))) +
                " us on average, the median of the other " + whole(fellows) + " links is " +
                micros(data.view.span_ns(usual)) + " us");
}

inline void find_slow_step(std::vector<std::string>& out, const report_data& data) {
  if (data.steps.size() < 3) return;
  const kept_step slowest = slowest_first(data.steps).front();
  const auto median = static_cast<double>(median_length(data.steps));
  const auto longest = static_cast<double>(slowest.length());
  if (longest <= stands_out * median) return;
  out.push_back("step " + std::to_string(slowest.number) + " took " + millis(longest) +
                " ms, the median of the last " + whole(data.steps.size()) + " is " +
                millis(median) + " ms");
}

inline void find_losses(std::vector<std::string>& out, const report_data& data) {
  const std::uint64_t overwritten = all_rings(data).overwritten;
  if (overwritten != 0) {
    out.push_back(
        whole(overwritten) +
        " records were overwritten before they were read: set FABSCOPE_RING_SLOTS higher or "
        "FABSCOPE_PERIOD_MS lower");
  }
  for (const report_output& one : data.extra.outputs) {
    if (one.lost == 0) continue;
    out.push_back(whole(one.lost) + " rows are missing in " + word(one.kind) + ": " + one.remedy);
  }
  const segment_format::header& head = data.view.head();
  if (head.threads_refused != 0) {
    out.push_back(whole(head.threads_refused) + " threads found no room and recorded nothing");
  }
  if (head.memory_refused + head.labels_refused != 0) {
    out.push_back("tables were refused " + whole(head.memory_refused) + " bytes and " +
                  whole(head.labels_refused) +
                  " names: some rows are missing or summed as (other)");
  }
  const clock_map_data& clock = head.clock_map;
  if (clock.backward_total + clock.jump_total != 0) {
    out.push_back("the clock went back " + whole(clock.backward_total) + " times and jumped " +
                  whole(clock.jump_total) + " times: times near these moments are uncertain");
  }
}

inline void print_findings(std::string& to, const report_data& data) {
  std::vector<std::string> found;
  find_errors(found, data);
  find_in_flight(found, data);
  find_nic_trouble(found, data);
  find_gap(found, data);
  find_slow_link(found, data);
  find_slow_step(found, data);
  find_losses(found, data);
  section(to, "what to look at");
  if (found.empty()) to += "nothing stands out\n";
  for (const std::string& one : found) to += "- " + one + "\n";
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
