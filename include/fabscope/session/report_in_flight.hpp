// SPDX-License-Identifier: Apache-2.0
// Fabric operations that have not completed, in the text report. Layer: session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <fabscope/event/cause.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/session/report_data.hpp>
#include <fabscope/session/report_fabric_text.hpp>
#include <fabscope/stats/in_flight_row.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// The oldest of them, sends and the like before receives, which may just wait for their peers.
inline std::vector<in_flight_row> oldest_in_flight(const report_data& data) {
  std::vector<in_flight_row> rows = merged_rows<in_flight_row>(data.view);
  const auto age = [](const in_flight_row& r) { return r.seen > r.begin ? r.seen - r.begin : 0; };
  return sorted(std::move(rows), [&](const in_flight_row& r) {
    return std::tuple(is_receive(static_cast<operation>(r.op)), ~age(r), r.place);
  });
}

inline std::string age_ms(const report_data& data, const in_flight_row& row) {
  return millis(data.ns(row.seen > row.begin ? row.seen - row.begin : 0));
}

inline void print_in_flight(std::string& to, const report_data& data) {
  const std::vector<in_flight_row> rows = oldest_in_flight(data);
  if (rows.empty()) return;
  section(to, "in flight");
  report_table table({"<kind", "age_ms", "bytes", "<local", "<remote", "<nic", "<during"});
  std::size_t count[2] = {};
  for (const in_flight_row& r : rows) {
    const cause during(r.cause);
    const bool known = during.kind() != cause_kind::none;
    table.add({kind_of(r), age_ms(data, r), whole(r.bytes), data.name(r.local), data.name(r.remote),
               data.name(r.nic), known ? word(data.view.label(during.label())) : "-"});
    ++count[is_receive(static_cast<operation>(r.op)) ? 1 : 0];
  }
  table.print(to);
  to += "# as the collector saw them at +" + data.since_begin(rows.front().seen) + " s";
  if ((std::max)(count[0], count[1]) == in_flight_list::places) {
    to += "; only the oldest " + whole(in_flight_list::places) + " receives and others are kept";
  }
  to += "\n";
}

/// The oldest operation that is no receive, if it has taken longer than any of its kind that
/// completed.
inline void find_in_flight(std::vector<std::string>& out, const report_data& data) {
  const std::vector<in_flight_row> rows = oldest_in_flight(data);
  if (rows.empty() || is_receive(static_cast<operation>(rows.front().op))) return;
  const in_flight_row& oldest = rows.front();
  for (const link_row& r : data.links) {
    if (r.op == oldest.op && r.max >= oldest.seen - oldest.begin) return;
  }
  out.push_back("an operation has not completed after " + age_ms(data, oldest) +
                " ms: " + kind_of(oldest) + " of " + whole(oldest.bytes) + " B " +
                data.name(oldest.local) + " -> " + data.name(oldest.remote));
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
