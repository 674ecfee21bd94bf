// SPDX-License-Identifier: Apache-2.0
// Scopes and steps in the text report. Layer: session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/event/cause.hpp>
#include <fabscope/session/report_data.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

FABSCOPE_NOINLINE inline void print_scopes(std::string& to, const report_data& data) {
  if (data.scopes.empty()) return;
  section(to, "scopes");
  report_table table(
      {"<scope", "count", "total_ms", "p50_us", "p99_us", "max_us", "bytes", "GB/s"});
  const auto name_of = [&](const scope_row& r) {
    if (r.used == row_is_other) return std::string("(other)");
    const std::string whole_name =
        std::string(data.view.label(r.domain)) + "/" + std::string(data.view.label(r.name));
    return word(whole_name);
  };
  for (const scope_row& r :
       sorted(data.scopes, [&](const scope_row& s) { return std::tuple(~s.sum, name_of(s)); })) {
    const auto quantile = [&](double q) {
      std::uint64_t value = quantile_of<3>(r.histogram, q);
      if (value > r.max) value = r.max;
      if (r.inverted_min != 0 && value < ~r.inverted_min) value = ~r.inverted_min;
      return r.count == 0 ? unknown_text : micros(data.ns(value));
    };
    table.add({name_of(r), whole(r.count), millis(data.ns(r.sum)), quantile(0.5), quantile(0.99),
               micros(data.ns(r.max)), whole(r.bytes),
               r.bytes == 0 ? "-" : gigabytes(static_cast<double>(r.bytes), data.ns(r.sum))});
  }
  table.print(to);
}

/// What the threads of a process that did not finish were in the middle of.
FABSCOPE_NOINLINE inline void print_open(std::string& to, const report_data& data) {
  if (relaxed_load(data.view.head().state) ==
      static_cast<std::uint32_t>(segment_format::state::finished)) {
    return;
  }
  report_table table({"<thread", "tid", "<innermost", "number", "depth"});
  for (const segment_format::thread_entry& thread : data.view.threads()) {
    const cause doing(relaxed_load(thread.live.cause));
    if (doing.kind() == cause_kind::none) continue;
    table.add({word(entry_text(thread.name)), whole(relaxed_load(thread.tid)),
               word(data.view.label(doing.label())), whole(doing.number()),
               whole(relaxed_load(thread.live.scopes) & 0xffffffff)});
  }
  if (table.empty()) return;
  section(to, "open scopes");
  table.print(to);
}

/// The median of the steps' lengths: of an even number, the lower of the two in
/// the middle.
inline std::uint64_t median_length(const std::vector<kept_step>& steps) {
  std::vector<std::uint64_t> lengths;
  for (const kept_step& step : steps) lengths.push_back(step.length());
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

inline std::vector<kept_step> slowest_first(const std::vector<kept_step>& steps) {
  return sorted(
      steps, [](const kept_step& s) { return std::tuple(~s.length(), s.number, s.begin, s.tid); });
}

FABSCOPE_NOINLINE inline void print_steps(std::string& to, const report_data& data) {
  if (data.steps.empty()) return;
  section(to, "steps");
  const std::vector<kept_step> slowest = slowest_first(data.steps);
  to += "of the last " + whole(data.steps.size()) + " kept: median " +
        millis(static_cast<double>(median_length(data.steps))) + " ms, longest " +
        millis(static_cast<double>(slowest.front().length())) + " ms; the slowest:\n";
  report_table table({"step", "ms", "begin_s", "tid"});
  for (std::size_t i = 0; i < slowest.size() && i < 5; ++i) {
    const kept_step& step = slowest[i];
    const auto ahead = static_cast<std::int64_t>(step.begin - data.view.head().begin.monotonic_ns);
    table.add({std::to_string(step.number), millis(static_cast<double>(step.length())),
               "+" + decimal(static_cast<double>(ahead) / 1e9, 3), whole(step.tid)});
  }
  table.print(to);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
