// SPDX-License-Identifier: Apache-2.0
// All counters of all selected NICs, read one after the other. Layer: nic.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/nic/ethtool_source.hpp>
#include <fabscope/nic/file_source.hpp>
#include <fabscope/nic/selection.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// A source whose type the sweep does not know.
class any_source {
 public:
  any_source() = default;
  any_source(const any_source&) = delete;
  any_source& operator=(const any_source&) = delete;
  virtual ~any_source() = default;
  [[nodiscard]] virtual std::span<const counter_column> columns() const noexcept = 0;
  virtual bool open() noexcept = 0;
  virtual bool read(std::uint64_t* values, sample_state* states) noexcept = 0;
  virtual void close() noexcept = 0;
  /// Now and then: false if the device must be opened anew.
  virtual bool look_after() noexcept { return true; }
};

namespace detail {

template <counter_source Source>
class held_source final : public any_source {
 public:
  explicit held_source(Source&& source) : source_(std::move(source)) {}
  [[nodiscard]] std::span<const counter_column> columns() const noexcept override {
    return source_.columns();
  }
  bool open() noexcept override { return source_.open(); }
  bool read(std::uint64_t* values, sample_state* states) noexcept override {
    return source_.read(values, states);
  }
  void close() noexcept override { source_.close(); }
  bool look_after() noexcept override {
    if constexpr (requires { source_.complete(); }) {
      source_.complete();
      return !source_.removed();
    } else {
      return true;
    }
  }

 private:
  Source source_;
};

}  // namespace detail

/// How often, and on which thread, a source is read.
struct source_rhythm {
  std::uint64_t least_period_ns = 0;  ///< 0: in every sample
  bool slow = false;                  ///< may block: read by a thread of its own
};

/// Sources in the order of their columns. Devices that go are opened again with growing pauses.
/// Threads: one for the parts that are not slow, one for those that are.
class sweep {
 public:
  struct part {
    std::unique_ptr<any_source> source;
    source_rhythm rhythm;
    std::size_t device = 0;
    std::size_t first = 0;  ///< column
    std::size_t count = 0;
    bool is_open = false;
    bool enabled = true;  ///< this process samples the device
    std::uint64_t next_ns = 0;
    std::uint64_t next_look_ns = 0;
    std::uint64_t pause_ns = 0;
  };
  /// What happened to a device.
  struct device_state {
    std::uint64_t gone = 0;
    std::uint64_t back = 0;
    std::uint64_t gone_at_ns = 0;
    std::uint64_t back_at_ns = 0;
    bool is_gone = false;
  };

  /// The sources of these devices, opened, with the counters that are wanted.
  void add_devices(const std::vector<nic_device>& devices, counter_selection& wanted) {
    for (const nic_device& one : devices) add_device(one, wanted);
  }

  void add_device(const nic_device& one, counter_selection& wanted) {
    devices_.push_back(one);
    states_.emplace_back();
    if (one.device_class == "cxi") {
      add_files(one, wanted, family::telemetry, "", one.dir + "/device/telemetry", {});
      add_files(one, wanted, family::retry_handler, "rh:", one.run_dir, {retry_period_ns, true});
    } else if (one.device_class == "infiniband") {
      const std::string port = one.dir + "/ports/" + std::to_string(one.port);
      add_files(one, wanted, family::port, "", port + "/counters", {ten_ms, false});
      add_files(one, wanted, family::hardware, "", port + "/hw_counters", {});
      if (one.port == 1) {
        add_files(one, wanted, family::hardware, "", one.dir + "/hw_counters", {});
      }
    } else {
      add_files(one, wanted, family::netdev, "", one.dir + "/statistics", {});
    }
    if (!one.netdev.empty() && !wanted.is_usual()) add_ethtool(one, wanted);
  }

  /// One more source, for the device that was added last.
  template <counter_source Source>
  void add_source(Source source, source_rhythm rhythm = {}) {
    part made;
    made.source = std::make_unique<detail::held_source<Source>>(std::move(source));
    made.is_open = made.source->open();
    made.rhythm = rhythm;
    made.device = devices_.empty() ? 0 : devices_.size() - 1;
    made.first = columns_.size();
    made.count = made.source->columns().size();
    if (made.count == 0) return;
    for (const counter_column& one : made.source->columns()) columns_.push_back(one);
    parts_.push_back(std::move(made));
  }

  [[nodiscard]] const std::vector<nic_device>& devices() const noexcept { return devices_; }
  [[nodiscard]] const std::vector<counter_column>& columns() const noexcept { return columns_; }
  [[nodiscard]] const device_state& state(std::size_t device) const noexcept {
    return states_[device];
  }
  [[nodiscard]] bool has_slow() const noexcept {
    for (const part& one : parts_) {
      if (one.rhythm.slow) return true;
    }
    return false;
  }
  /// Whether this process reads a device; else its values are absent.
  void enable(std::size_t device, bool on) noexcept {
    for (part& one : parts_) {
      if (one.device != device) continue;
      __atomic_store_n(&one.enabled, on, __ATOMIC_RELAXED);  // the slow thread looks at it as well
    }
  }

  /// Reads what is due at `now_ns` (CLOCK_MONOTONIC). The arrays have room for all columns; those
  /// of parts that are not due, or not of this kind, are left alone.
  void read(std::uint64_t now_ns, bool slow, std::uint64_t* values, sample_state* states) noexcept {
    for (part& one : parts_) {
      if (one.rhythm.slow == slow) read_part(one, now_ns, values, states);
    }
  }

  /// Numbers of the columns of parts of this kind.
  template <class Each>
  void for_each_column(bool slow, Each&& each) const noexcept {
    for (const part& one : parts_) {
      if (one.rhythm.slow != slow) continue;
      for (std::size_t i = 0; i < one.count; ++i) each(one.first + i);
    }
  }

  /// Closes everything; the next read opens it again.
  void close(bool slow) noexcept {
    for (part& one : parts_) {
      if (one.rhythm.slow != slow) continue;
      one.source->close();
      one.is_open = false;
    }
  }

  static constexpr std::uint64_t retry_period_ns = 1'000'000'000;
  static constexpr std::uint64_t ten_ms = 10'000'000;

 private:
  static constexpr std::uint64_t first_pause_ns = 100'000'000;
  static constexpr std::uint64_t longest_pause_ns = 30'000'000'000;
  static constexpr std::uint64_t look_period_ns = 1'000'000'000;

  void read_part(part& one, std::uint64_t now_ns, std::uint64_t* values,
                 sample_state* states) noexcept {
    sample_state* const mine = states + one.first;
    if (!__atomic_load_n(&one.enabled, __ATOMIC_RELAXED)) {
      fill(mine, one.count, sample_state::absent);
      return;
    }
    if (now_ns < one.next_ns) {
      fill(mine, one.count, one.is_open ? sample_state::absent : sample_state::missing);
      return;
    }
    // A little early is due as well: ticks are not exact.
    const std::uint64_t least = one.rhythm.least_period_ns;
    one.next_ns = least == 0 ? 0 : now_ns + least - least / 16;
    if (one.is_open && now_ns >= one.next_look_ns) {
      one.next_look_ns = now_ns + look_period_ns;
      if (!one.source->look_after()) lose(one, now_ns);
    }
    if (!one.is_open && !find_again(one, now_ns)) {
      fill(mine, one.count, sample_state::missing);
      return;
    }
    if (!one.source->read(values + one.first, mine)) {
      lose(one, now_ns);
      one.next_ns = now_ns + one.pause_ns;
    } else if (one.pause_ns != 0) {
      one.pause_ns = 0;
      device_state& state = states_[one.device];
      if (state.is_gone) {
        state.is_gone = false;
        relaxed_store(state.back_at_ns, now_ns);
        relaxed_add(state.back, 1);
      }
    }
  }

  void lose(part& one, std::uint64_t now_ns) noexcept {
    one.source->close();
    one.is_open = false;
    if (one.pause_ns == 0) {
      one.pause_ns = first_pause_ns;
      device_state& state = states_[one.device];
      if (!state.is_gone) {
        state.is_gone = true;
        relaxed_store(state.gone_at_ns, now_ns);
        relaxed_add(state.gone, 1);
      }
    }
  }

  bool find_again(part& one, std::uint64_t now_ns) noexcept {
    one.is_open = one.source->open();
    if (one.is_open) return true;
    if (one.pause_ns == 0) lose(one, now_ns);
    one.next_ns = now_ns + one.pause_ns;
    one.pause_ns = one.pause_ns * 2 < longest_pause_ns ? one.pause_ns * 2 : longest_pause_ns;
    return false;
  }

  static void fill(sample_state* states, std::size_t count, sample_state with) noexcept {
    for (std::size_t i = 0; i < count; ++i) states[i] = with;
  }

  [[nodiscard]] bool has_column(const std::string& device, const std::string& name) const {
    for (const counter_column& one : columns_) {
      if (one.device == device && one.name == name) return true;
    }
    return false;
  }

  void add_files(const nic_device& device, counter_selection& wanted, family where,
                 const std::string& prefix, const std::string& dir, source_rhythm rhythm) {
    std::vector<std::string> names = detail::files_in(dir);
    // Neither a counter nor harmless: a binary of all registers, a switch, and a setting.
    for (const char* other : {"ALL-in-binary", "reset_counters", "lifespan"}) {
      names.erase(std::remove(names.begin(), names.end(), other), names.end());
    }
    const long lifespan =
        where == family::hardware ? detail::read_number(dir + "/lifespan", 10) : -1;
    std::vector<counter_column> columns;
    for (const std::string& name : wanted.pick(device, prefix, names)) {
      counter_column one;
      one.device = device.title();
      one.name = prefix + name;
      if (has_column(one.device, one.name)) one.name = "hw:" + name;
      one.path = dir + "/" + name;
      describe_counter(one, where, name, device);
      const auto known_ns = static_cast<std::uint64_t>(lifespan < 0 ? 0 : lifespan) * 1'000'000;
      if (lifespan >= 0 && one.format.refresh_ns <= ten_ms) one.format.refresh_ns = known_ns;
      columns.push_back(std::move(one));
    }
    if (columns.empty()) return;
    add_source(file_source<>(std::move(columns), where == family::retry_handler), rhythm);
  }

  void add_ethtool(const nic_device& device, counter_selection& wanted) {
    const std::vector<std::string> names = ethtool_source::names_of(device.netdev);
    std::vector<counter_column> columns;
    for (const std::string& name : wanted.pick(device, "ethtool:", names)) {
      counter_column one;
      one.device = device.title();
      one.name = "ethtool:" + name;
      if (has_column(one.device, one.name)) continue;
      one.path = "ethtool -S " + device.netdev;
      describe_counter(one, family::ethtool, name, device);
      columns.push_back(std::move(one));
    }
    if (columns.empty()) return;
    add_source(ethtool_source(device, std::move(columns)), {retry_period_ns, true});
  }

  std::vector<nic_device> devices_;
  std::vector<device_state> states_;
  std::vector<counter_column> columns_;
  std::vector<part> parts_;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
