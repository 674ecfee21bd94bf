// SPDX-License-Identifier: Apache-2.0
// Which hardware counters of a NIC moved while operations on it were slow. Layer: session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/session/each_record.hpp>
#include <fabscope/session/report_data.hpp>
#include <fabscope/stats/chance.hpp>
#include <fabscope/stats/counter_rate.hpp>
#include <fabscope/stats/nic_rows.hpp>
#include <fabscope/stats/sample_ring.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// A counter that moved more often in windows with slow operations than in the others.
struct moved_counter {
  std::uint32_t device = 0;
  std::uint32_t name = 0;
  coincidence windows;
  double slow_rate = 0;   ///< per second in slow windows, in the counter's unit
  double quiet_rate = 0;  ///< in the others
  double chance = 1;      ///< for all counters of the device together
};

/// What may happen by chance in one report of a hundred is not told.
inline constexpr double chance_limit = 0.01;

/// Operations that the rings still hold, and from where on one is slow.
class kept_operations {
 public:
  struct stretch {
    std::uint32_t nic;
    bool slow;
    std::uint64_t begin;
    std::uint64_t end;
  };

  explicit kept_operations(const report_data& data) : data_(data) {}

  void read() {
    each_record<operation_record>(data_.view, [this](const operation_record& one, const auto&) {
      const auto op = static_cast<operation>(one.op);
      // Receives wait for their peers: how long says nothing about the NIC.
      if (one.error != 0 || one.flags != 0 || is_receive(op) || is_inject(op)) return;
      if (one.end <= one.header.ticks) return;
      const std::uint64_t limit = limit_of(one);
      if (limit == 0) return;
      found.push_back({one.nic, one.end - one.header.ticks > limit, one.header.ticks, one.end});
    });
  }

  std::vector<stretch> found;

 private:
  // p99 of the operations of its kind, size and level on its NIC; 0: too few to tell.
  std::uint64_t limit_of(const operation_record& one) const noexcept {
    for (const nic_histogram_row& row : data_.kinds) {
      if (row.nic != one.nic || row.op != one.op || row.level != one.level ||
          row.size != size_class(one.bytes) || row.used != row_in_use) {
        continue;
      }
      std::uint64_t count = 0;
      for (const std::uint32_t n : row.histogram) count += n;
      return count < 100 ? 0 : quantile_of<6>(row.histogram, 0.99);
    }
    return 0;
  }

  const report_data& data_;
};

/// Stretches of time between two samples, and how fast each counter grew in them.
struct sampled_windows {
  struct window {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool used = false;  ///< operations of the NIC were in it
    bool slow = false;
  };
  std::vector<window> windows;
  std::vector<std::vector<double>> rates;  ///< by column, per second; below 0: not known

  sampled_windows(const report_data& data, const std::vector<nic_counter_row>& counters) {
    std::size_t columns = 0;
    for (const nic_counter_row& row : counters) {
      columns = (std::max)(columns, std::size_t{row.column} + 1);
    }
    std::vector<counter_rate> rate(columns);
    std::vector<bool> known(columns);
    for (const nic_counter_row& row : counters) {
      counter_format format;
      format.kind = static_cast<metric_kind>(row.kind);
      format.bits = row.bits >= 1 && row.bits <= 64 ? row.bits : 64;
      format.saturates = (row.flags & nic_saturates) != 0;
      rate[row.column] = counter_rate(format);
      known[row.column] = format.kind == metric_kind::counter;
    }
    rates.resize(columns);
    std::vector<nic_block_row> blocks;
    data.view.rows<nic_block_row>(
        [&](const nic_block_row& row, std::uint32_t) { blocks.push_back(row); });
    std::uint64_t before = 0;
    (void)decode_samples(blocks, blocks.size(), columns, [&](const nic_sample& one) {
      const std::uint64_t now = data.view.ns(one.begin);
      const bool first = before == 0 || one.begin <= before;
      if (!first) windows.push_back({before, one.begin, false, false});
      for (std::size_t i = 0; i < columns; ++i) {
        const bool good = one.states[i] == sample_state::good && known[i];
        const counter_step step = good ? rate[i].add(now, one.values[i]) : rate[i].add_missing();
        if (!first) rates[i].push_back(step.is_exact() && step.gap == 0 ? step.per_second() : -1);
      }
      before = one.begin;
    });
  }

  /// Marks the windows in which operations of a NIC were in flight.
  void mark(const std::vector<kept_operations::stretch>& operations, std::uint32_t nic) {
    for (window& one : windows) one.used = one.slow = false;
    for (const kept_operations::stretch& op : operations) {
      if (op.nic != nic) continue;
      auto at =
          std::lower_bound(windows.begin(), windows.end(), op.begin,
                           [](const window& one, std::uint64_t begin) { return one.end <= begin; });
      for (; at != windows.end() && at->begin < op.end; ++at) {
        at->used = true;
        at->slow |= op.slow;
      }
    }
  }
};

/// Compares the windows with and without slow operations for one counter. It has moved in a window
/// if it grew faster there than in the median quiet one: 0 for those that rarely move.
inline moved_counter compare_windows(const sampled_windows& in, const nic_counter_row& row) {
  moved_counter out;
  out.device = row.device;
  out.name = row.name;
  const std::vector<double>& rates = in.rates[row.column];
  std::vector<double> quiet;
  double slow_sum = 0;
  double quiet_sum = 0;
  for (std::size_t i = 0; i < in.windows.size(); ++i) {
    if (in.windows[i].used && !in.windows[i].slow && rates[i] >= 0) quiet.push_back(rates[i]);
  }
  if (quiet.empty()) return out;
  const auto middle = quiet.begin() + static_cast<std::ptrdiff_t>(quiet.size() / 2);
  std::nth_element(quiet.begin(), middle, quiet.end());
  const double usual = *middle;
  for (std::size_t i = 0; i < in.windows.size(); ++i) {
    if (!in.windows[i].used || rates[i] < 0) continue;
    const bool moved = rates[i] > usual;
    if (in.windows[i].slow) {
      ++(moved ? out.windows.slow_moved : out.windows.slow_still);
      slow_sum += rates[i];
    } else {
      ++(moved ? out.windows.quiet_moved : out.windows.quiet_still);
      quiet_sum += rates[i];
    }
  }
  const auto scale = static_cast<double>(row.scale);
  if (out.windows.slow() != 0)
    out.slow_rate = slow_sum * scale / static_cast<double>(out.windows.slow());
  if (out.windows.quiet() != 0)
    out.quiet_rate = quiet_sum * scale / static_cast<double>(out.windows.quiet());
  out.chance = out.windows.chance();
  return out;
}

/// Counters that moved with slow operations of their NIC, the least likely coincidence first.
/// `chance` is that of any counter of the device doing so (Bonferroni): with a hundred counters one
/// of them looks suspicious by itself. Errors: empty where samples or operations are too few.
inline std::vector<moved_counter> moved_with_slow(const report_data& data) {
  std::vector<moved_counter> out;
  const std::vector<nic_counter_row> counters = merged_rows<nic_counter_row>(data.view);
  if (counters.empty()) return out;
  kept_operations operations(data);
  operations.read();
  sampled_windows windows(data, counters);
  if (operations.found.empty() || windows.windows.empty()) return out;
  std::vector<std::uint32_t> devices;
  for (const nic_counter_row& row : counters) devices.push_back(row.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const std::uint32_t device : devices) {
    windows.mark(operations.found, device);
    std::vector<moved_counter> of_device;
    for (const nic_counter_row& row : counters) {
      if (row.device != device || static_cast<metric_kind>(row.kind) != metric_kind::counter)
        continue;
      of_device.push_back(compare_windows(windows, row));
    }
    for (moved_counter& one : of_device) {
      one.chance *= static_cast<double>(of_device.size());
      if (one.chance < chance_limit) out.push_back(one);
    }
  }
  std::sort(out.begin(), out.end(), [](const moved_counter& a, const moved_counter& b) {
    return std::tuple(a.chance, a.device, a.name) < std::tuple(b.chance, b.device, b.name);
  });
  return out;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
