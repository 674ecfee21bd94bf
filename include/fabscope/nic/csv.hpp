// SPDX-License-Identifier: Apache-2.0
// nic.csv: one row per sample, one column per counter. Layer: nic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/nic/devices.hpp>
#include <fabscope/nic/sweep.hpp>
#include <fabscope/sink/detail/row_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// The columns are those of the replaced tool, `t_ns,wall_ns,<device>:<counter>...`, and behind
/// them `sweep_ns,missed`. A field is empty where there is no value: it could not be read, cannot
/// be true, or was not due. Values are as they were read.  Threads: one. Units: nanoseconds since
/// the session's begin; CLOCK_REALTIME by the session's anchors.
class csv_file {
 public:
  struct description {
    std::uint64_t anchor_mono_ns = 0;
    std::uint64_t anchor_wall_ns = 0;
    std::uint64_t period_ns = 0;
    std::vector<std::string> devices;  ///< a comment line each
  };

  csv_file(const file_sink_options& options, description about,
           const std::vector<counter_column>& columns)
      : file_("nic.csv", options), about_(std::move(about)), columns_(columns) {
    head_ = head_text(options);
  }

  void add(const nic_sample& one, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
    if (first_ns_ == 0) first_ns_ = begin_ns;
    last_ns_ = begin_ns;
    ++samples_;
    const std::uint64_t wall = begin_ns + (about_.anchor_wall_ns - about_.anchor_mono_ns);
    file_.row([this](text_writer& to) noexcept { to.text(head_); },
              [&](text_writer& to) noexcept {
                to.u64(begin_ns - about_.anchor_mono_ns).ch(',').u64(wall);
                for (std::size_t i = 0; i < one.values.size(); ++i) {
                  to.ch(',');
                  if (one.states[i] == sample_state::good) to.u64(one.values[i]);
                }
                to.ch(',').u64(end_ns - begin_ns).ch(',').u64(one.missed).ch('\n');
              });
  }

  void flush() noexcept { file_.flush(); }
  void finish(const nic_sampler_row& how) noexcept {
    file_.finish([&](text_writer& to, const clock_snapshot& now) noexcept {
      const std::uint64_t span = last_ns_ - first_ns_;
      to.text("# end mono_ns=").u64(now.monotonic_ns);
      to.text(" wall_ns=").u64(now.realtime_ns);
      to.text(" interval_ms=").u64(how.period_ns / 1'000'000).text(" achieved_mean_ms=");
      to.fixed3(samples_ > 1 ? span / (samples_ - 1) / 1000 : 0);
      to.text(" samples=").u64(how.samples).text(" missed=").u64(how.missed);
      to.text(" late_p50_ns=").u64(quantile_of<3>(how.late, 0.5));
      to.text(" late_p99_ns=").u64(quantile_of<3>(how.late, 0.99));
      to.text(" interval_p50_ns=").u64(quantile_of<3>(how.interval, 0.5));
      to.text(" interval_p99_ns=").u64(quantile_of<3>(how.interval, 0.99));
      to.text(" overwritten=").u64(how.overwritten).ch('\n');
    });
  }

  [[nodiscard]] std::uint64_t rows_written() const noexcept { return file_.rows_written(); }
  [[nodiscard]] std::uint64_t rows_lost() const noexcept { return file_.rows_lost(); }

 private:
  std::string head_text(const file_sink_options& options) const {
    std::string out = "# fabscope NIC counters host=" + std::string(options.host) + " rank=" +
                      (options.rank < 0 ? std::string("NA") : std::to_string(options.rank)) +
                      " pid=" + std::to_string(options.pid) + "\n";
    out += "# interval_ms=" + std::to_string(about_.period_ns / 1'000'000) +
           " counters=" + std::to_string(columns_.size()) +
           "; what was achieved stands in the last line\n";
    out +=
        "# t_ns = ns since this rank's clock anchor (same anchor as ops.csv); wall_ns = "
        "CLOCK_REALTIME for cross-rank alignment; an empty field: no value\n";
    out += "# anchor_mono_ns=" + std::to_string(about_.anchor_mono_ns) +
           " anchor_wall_ns=" + std::to_string(about_.anchor_wall_ns) +
           "  (t_ns = CLOCK_MONOTONIC - anchor_mono_ns; wall = CLOCK_MONOTONIC + (anchor_wall_ns - "
           "anchor_mono_ns))\n";
    for (const std::string& one : about_.devices) out += "# dev " + one + "\n";
    out += "t_ns,wall_ns";
    for (const counter_column& one : columns_) {
      out += ",";
      const std::string title = one.device + ":" + one.name;
      if (title.find_first_of(",\"\n") == title.npos) {
        out += title;
        continue;
      }
      out += '"';
      for (const char letter : title) {
        if (letter == '"') out += '"';
        out += letter;
      }
      out += '"';
    }
    return out + ",sweep_ns,missed\n";
  }

  fabscope::detail::row_file file_;
  description about_;
  const std::vector<counter_column>& columns_;
  std::string head_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
