// SPDX-License-Identifier: Apache-2.0
// Everything that a report says, as merged rows and records. Layer: session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/event/scope_record.hpp>
#include <fabscope/session/each_record.hpp>
#include <fabscope/session/report_extra.hpp>
#include <fabscope/session/report_merge.hpp>
#include <fabscope/session/report_table.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// A step as it was kept in a ring. Units: ns of CLOCK_MONOTONIC.
struct kept_step {
  std::int64_t number;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t tid;
  [[nodiscard]] std::uint64_t length() const noexcept { return end > begin ? end - begin : 0; }
};

/// Read once, so that all sections speak of the same moment.
struct report_data {
  report_data(const segment_view& segment, const report_extra& more) : view(segment), extra(more) {
    links = merged_rows<link_row>(view);
    errors = merged_rows<link_error_row>(view);
    nics = merged_rows<nic_row>(view);
    kinds = merged_rows<nic_histogram_row>(view);
    queues = merged_rows<cq_row>(view);
    tallies = merged_rows<tally_row>(view);
    connections = merged_rows<connection_row>(view);
    registrations = merged_rows<registration_row>(view);
    scopes = merged_rows<scope_row>(view);
    read_steps();
  }

  [[nodiscard]] std::string name(std::uint32_t label, const char* none = unknown_text) const {
    return word(view.label(label), none);
  }
  /// A key's name in a row that may be the one for keys without room.
  template <class Row>
  [[nodiscard]] std::string key_name(const Row& row, std::uint32_t label) const {
    return row.used == row_is_other ? "(other)" : name(label);
  }
  [[nodiscard]] double ns(std::uint64_t span) const noexcept {
    return view.span_ns(static_cast<double>(span));
  }
  [[nodiscard]] double ns_of_least(std::uint64_t inverted) const noexcept {
    return inverted == 0 ? 0 : ns(~inverted);
  }
  /// Seconds between the session's begin and a stamp.
  [[nodiscard]] std::string since_begin(std::uint64_t ticks) const {
    const auto ahead = static_cast<std::int64_t>(view.ns(ticks) - view.head().begin.monotonic_ns);
    return decimal(static_cast<double>(ahead) / 1e9, 3);
  }
  [[nodiscard]] double duration_ns() const noexcept {
    const auto begin = view.head().begin.monotonic_ns;
    const auto latest = view.head().latest.monotonic_ns;
    return latest > begin ? static_cast<double>(latest - begin) : 0;
  }
  [[nodiscard]] std::string tid(std::uint32_t thread) const {
    const auto threads = view.threads();
    return thread < threads.size() ? whole(threads[thread].tid) : unknown_text;
  }

  const segment_view& view;
  const report_extra& extra;
  std::vector<link_row> links;
  std::vector<link_error_row> errors;
  std::vector<nic_row> nics;
  std::vector<nic_histogram_row> kinds;
  std::vector<cq_row> queues;
  std::vector<tally_row> tallies;
  std::vector<connection_row> connections;
  std::vector<registration_row> registrations;
  std::vector<scope_row> scopes;
  std::vector<kept_step> steps;  ///< in the order of their begin

 private:
  void read_steps() {
    each_record<step_record>(view, [this](const step_record& step, const auto& thread) {
      steps.push_back(
          {step.number, view.ns(step.header.ticks), view.ns(step.end), relaxed_load(thread.tid)});
    });
    std::sort(steps.begin(), steps.end(), [](const kept_step& a, const kept_step& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.number < b.number;
    });
  }
};

/// Numbers of elements so that none is less than the one before it; equal ones
/// stay in their order. Not a template: the report sorts a dozen kinds of rows,
/// few of each.
FABSCOPE_NOINLINE inline std::vector<std::size_t> sorted_numbers(
    std::size_t count, const void* rows,
    bool (*less)(const void* rows, std::size_t a, std::size_t b)) {
  std::vector<std::size_t> from(count);
  std::vector<std::size_t> to(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = i;
  for (std::size_t run = 1; run < count; run *= 2) {  // two sorted runs become one
    for (std::size_t begin = 0; begin < count; begin += 2 * run) {
      const std::size_t middle = begin + run < count ? begin + run : count;
      const std::size_t end = middle + run < count ? middle + run : count;
      std::size_t a = begin;
      std::size_t b = middle;
      for (std::size_t i = begin; i < end; ++i) {
        const bool second = a == middle || (b != end && less(rows, from[b], from[a]));
        to[i] = second ? from[b++] : from[a++];
      }
    }
    from.swap(to);
  }
  return from;
}

/// Sorts by a function that gives each element's texts and numbers as something
/// comparable.
template <class Row, class Key>
std::vector<Row> sorted(const std::vector<Row>& rows, const Key& key) {
  using value = decltype(key(rows.front()));
  std::vector<value> keys;
  keys.reserve(rows.size());
  for (const Row& row : rows) keys.push_back(key(row));
  const auto less = [](const void* all, std::size_t a, std::size_t b) {
    const value* values = static_cast<const value*>(all);
    return values[a] < values[b];
  };
  std::vector<Row> out;
  out.reserve(rows.size());
  for (const std::size_t i : sorted_numbers(rows.size(), keys.data(), less)) {
    out.push_back(rows[i]);
  }
  return out;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
