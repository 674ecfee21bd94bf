// SPDX-License-Identifier: Apache-2.0
// Hardware counters in the text report. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/session/nic_correlation.hpp>
#include <fabscope/session/report_data.hpp>
#include <fabscope/stats/nic_rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

inline bool is_bytes(const nic_counter_row& row) noexcept {
  const auto role = static_cast<nic_role>(row.role);
  return role == nic_role::tx_bytes || role == nic_role::rx_bytes;
}
inline bool is_counter(const nic_counter_row& row) noexcept {
  return static_cast<metric_kind>(row.kind) == metric_kind::counter;
}
inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && value > 0 ? "%.3f" : "%.0f", value);
  return text;
}
/// What keeps a figure from being the whole truth.
inline std::string doubts_of(const nic_counter_row& row) {
  std::string out;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count != 0) out += (out.empty() ? "" : ",") + std::string(what) + "=" + whole(count);
  };
  add(row.missing, "missing");
  add(row.invalid, "invalid");
  add(row.resets, "resets");
  add(row.saturated, "saturated");
  if ((row.flags & nic_twin) != 0) out += (out.empty() ? "" : ",") + std::string("twin");
  return out.empty() ? "-" : out;
}
inline double total_of(const nic_counter_row& row) noexcept {
  return static_cast<double>(row.total) * static_cast<double>(row.scale);
}
inline double mean_rate(const nic_counter_row& row) noexcept {
  return row.observed == 0 ? 0 : total_of(row) * 1e9 / static_cast<double>(row.observed);
}

inline void print_nic_devices(std::string& to, const report_data& data,
                              const std::vector<nic_counter_row>& counters) {
  const std::vector<nic_device_row> devices = merged_rows<nic_device_row>(data.view);
  if (devices.empty()) return;
  section(to, "nic devices");
  report_table table({"<device", "<class", "<driver", "speed_Gb/s", "numa", "<pci", "counters",
                      "moved", "gone", "sampled_by"});
  std::string remarks;
  for (const nic_device_row& r : sorted(devices, [&](const nic_device_row& one) {
         return std::tuple(data.name(one.device), data.name(one.device_class));
       })) {
    std::uint64_t all = 0;
    std::uint64_t moved = 0;
    for (const nic_counter_row& c : counters) {
      if (c.device != r.device) continue;
      ++all;
      if (c.total != 0 || (!is_counter(c) && c.min != c.max)) ++moved;
    }
    table.add(
        {data.name(r.device), data.name(r.device_class), data.name(r.driver, "-"),
         r.speed_mbps > 0 ? number_text(static_cast<double>(r.speed_mbps) / 1000) : unknown_text,
         r.numa < 0 ? unknown_text : std::to_string(r.numa), data.name(r.pci, "-"), whole(all),
         whole(moved), whole(r.gone), whole(r.sampler)});
    if (r.gone != 0) {
      remarks += "# " + data.name(r.device) + " was gone " + whole(r.gone) +
                 " times, the last at +" + data.since_begin(r.gone_at) + " s, and returned " +
                 whole(r.back) + " times\n";
    }
  }
  table.print(to);
  to += remarks;
}

inline void print_sampler(std::string& to, const report_data& data) {
  for (const nic_sampler_row& r : merged_rows<nic_sampler_row>(data.view)) {
    const auto late = [&](double q) {
      return micros(static_cast<double>(quantile_of<3>(r.late, q)));
    };
    const double samples = static_cast<double>(r.samples == 0 ? 1 : r.samples);
    to += "# sampled every " + millis(static_cast<double>(r.period_ns)) +
          " ms: " + whole(r.samples) + " samples, " + whole(r.missed) + " missed; began late by " +
          late(0.5) + " us (p50), " + late(0.99) + " us (p99); reading took " +
          micros(static_cast<double>(r.sweep_ns) / samples) + " us on average, " +
          micros(static_cast<double>(r.sweep_max_ns)) + " us at most; " +
          millis(static_cast<double>(r.cpu_ns)) + " ms of processor time\n";
    to += "# samples " + whole(r.samples) + " = written " + whole(r.written) + " + overwritten " +
          whole(r.overwritten) + " + dropped " + whole(r.dropped) + " + filtered " +
          whole(r.filtered) + "\n";
  }
}

inline void print_nic_throughput(std::string& to, const report_data& data,
                                 const std::vector<nic_counter_row>& counters) {
  report_table table({"<device", "<counter", "bytes", "GB/s", "p99_GB/s", "max_GB/s", "line_%"});
  const std::vector<nic_rate_row> rates = merged_rows<nic_rate_row>(data.view);
  const std::vector<nic_device_row> devices = merged_rows<nic_device_row>(data.view);
  for (const nic_counter_row& r : counters) {
    if (!is_bytes(r)) continue;
    std::string p99 = unknown_text;
    for (const nic_rate_row& rate : rates) {
      if (rate.device == r.device && rate.name == r.name && rate.count != 0) {
        p99 = decimal(static_cast<double>(quantile_of<3>(rate.histogram, 0.99)) / 1e9, 3);
      }
    }
    std::string share = unknown_text;
    for (const nic_device_row& device : devices) {
      if (device.device == r.device && device.speed_mbps > 0 && r.observed != 0) {
        share = decimal(mean_rate(r) * 8e-4 / static_cast<double>(device.speed_mbps), 1);
      }
    }
    const double fastest = static_cast<double>(r.fastest) * static_cast<double>(r.scale);
    table.add({data.name(r.device), data.name(r.name), number_text(total_of(r)),
               r.observed == 0 ? unknown_text : decimal(mean_rate(r) / 1e9, 3), p99,
               decimal(fastest / 1e9, 3), share});
  }
  if (table.empty()) return;
  section(to, "nic throughput");
  table.print(to);
  to += "# all traffic of the device, not only this process's\n";
}

/// Counters that moved: first those that stand still in a healthy run.
inline void print_nic_counters(std::string& to, const report_data& data) {
  std::vector<nic_counter_row> counters =
      sorted(merged_rows<nic_counter_row>(data.view), [&](const nic_counter_row& r) {
        return std::tuple(data.name(r.device), r.column, data.name(r.name));
      });
  print_nic_devices(to, data, counters);
  print_sampler(to, data);
  if (counters.empty()) return;
  print_nic_throughput(to, data, counters);
  report_table trouble({"<device", "<counter", "total", "<unit", "per_s", "max_per_s", "<doubts"});
  report_table others = trouble;
  report_table levels({"<device", "<counter", "<unit", "min", "max", "last", "<doubts"});
  for (const nic_counter_row& r : counters) {
    const auto scale = static_cast<double>(r.scale);
    if (!is_counter(r)) {
      if (r.samples == 0) continue;
      levels.add({data.name(r.device), data.name(r.name), data.name(r.unit, "-"),
                  number_text(static_cast<double>(r.min) * scale),
                  number_text(static_cast<double>(r.max) * scale),
                  number_text(static_cast<double>(r.last) * scale), doubts_of(r)});
      continue;
    }
    if (is_bytes(r) || (r.total == 0 && r.missing + r.invalid + r.resets + r.saturated == 0))
      continue;
    const bool bad = (r.flags & nic_should_be_zero) != 0 && r.total != 0;
    (bad ? trouble : others)
        .add({data.name(r.device), data.name(r.name), number_text(total_of(r)),
              data.name(r.unit, "-"), number_text(mean_rate(r)),
              number_text(static_cast<double>(r.fastest) * scale), doubts_of(r)});
  }
  const auto print = [&](const report_table& table, const char* title) {
    if (table.empty()) return;
    section(to, title);
    table.print(to);
  };
  print(trouble, "nic trouble");
  print(others, "nic counters");
  print(levels, "nic levels");
}

inline void print_moved_with_slow(std::string& to, const report_data& data) {
  const std::vector<moved_counter> moved = moved_with_slow(data);
  if (moved.empty()) return;
  section(to, "moved with slow operations");
  report_table table({"<device", "<counter", "slow_windows", "moved", "quiet_windows", "moved",
                      "per_s_slow", "per_s_quiet", "chance"});
  for (const moved_counter& one : moved) {
    char chance[32];
    std::snprintf(chance, sizeof chance, "%.1e", one.chance);
    table.add({data.name(one.device), data.name(one.name), whole(one.windows.slow()),
               whole(one.windows.slow_moved), whole(one.windows.quiet()),
               whole(one.windows.quiet_moved), number_text(one.slow_rate),
               number_text(one.quiet_rate), chance});
  }
  table.print(to);
  to +=
      "# windows: between two samples, with operations of this process that the rings still hold;\n"
      "# slow: one of them was above p99 of its kind, size and level. chance: of any counter of\n"
      "# the device doing so by itself (Fisher's exact test, times the number of counters).\n";
}

/// The counter that should stand still and moved most often with slow operations, else the one that
/// moved.
inline void find_nic_trouble(std::vector<std::string>& out, const report_data& data) {
  const std::vector<moved_counter> moved = moved_with_slow(data);
  if (!moved.empty()) {
    const moved_counter& one = moved.front();
    out.push_back("slow operations came with " + data.name(one.name) + " of " +
                  data.name(one.device) + ": it moved in " + whole(one.windows.slow_moved) +
                  " of " + whole(one.windows.slow()) + " windows with slow operations and in " +
                  whole(one.windows.quiet_moved) + " of " + whole(one.windows.quiet()) +
                  " without");
  }
  const nic_counter_row* worst = nullptr;
  std::size_t count = 0;
  const std::vector<nic_counter_row> counters = merged_rows<nic_counter_row>(data.view);
  for (const nic_counter_row& r : counters) {
    if (!is_counter(r) || (r.flags & nic_should_be_zero) == 0 || r.total == 0) continue;
    ++count;
    if (worst == nullptr || total_of(r) > total_of(*worst)) worst = &r;
  }
  if (worst == nullptr) return;
  out.push_back(whole(count) + " hardware counters moved that stand still in a healthy run; most " +
                data.name(worst->name) + " of " + data.name(worst->device) + ": " +
                number_text(total_of(*worst)) + " " + data.name(worst->unit, "times"));
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
