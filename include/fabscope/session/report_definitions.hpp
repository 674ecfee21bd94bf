// SPDX-License-Identifier: Apache-2.0
// The text report's order and its first section. Part of report.hpp; where
// FABSCOPE_SEPARATE_SESSION is defined, of definitions.hpp. Layer: session.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/session/report_collectives.hpp>
#include <fabscope/session/report_extra.hpp>
#include <fabscope/session/report_fabric.hpp>
#include <fabscope/session/report_findings.hpp>
#include <fabscope/session/report_in_flight.hpp>
#include <fabscope/session/report_losses.hpp>
#include <fabscope/session/report_nic.hpp>
#include <fabscope/session/report_scopes.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/session/separate.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// CLOCK_REALTIME as ISO 8601 in UTC.
inline std::string utc(std::uint64_t realtime_ns) {
  if (realtime_ns == 0) return unknown_text;
  const auto seconds = static_cast<time_t>(realtime_ns / 1000000000);
  tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return unknown_text;
  char text[40];
  const std::size_t size = ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06uZ",
                static_cast<unsigned>(realtime_ns / 1000 % 1000000));
  return std::string(text, size) + fraction;
}

inline std::string number_or_unknown(std::int32_t number) {
  return number < 0 ? unknown_text : std::to_string(number);
}

inline void print_process(std::string& to, const report_data& data) {
  const segment_format::header& head = data.view.head();
  to += "fabscope " + word(entry_text(head.library_version)) + " report\n";
  section(to, "process");
  const auto line = [&](const char* key, const std::string& value) {
    to += key;
    to.append(10 - std::string_view(key).size(), ' ');
    to += value + "\n";
  };
  line("host", word(entry_text(head.host)));
  line("rank", number_or_unknown(head.rank));
  line("local", number_or_unknown(head.local_rank));
  line("ranks", number_or_unknown(head.size));
  line("pid", std::to_string(head.pid));
  line("command", word(entry_text(head.command)));
  line("launcher", word(entry_text(head.launcher), "none"));
  line("job", word(entry_text(head.job)));
  line("level", to_string(static_cast<level>(head.level)));
  const clock_map_data& clock = head.clock_map;
  const bool is_monotonic = static_cast<clock_kind>(head.clock) == clock_kind::monotonic;
  line("clock", std::string(to_string(static_cast<clock_kind>(head.clock))) +
                    (is_monotonic ? ""
                                  : ", within " + whole(clock.worst_error_ns) +
                                        " ns of CLOCK_MONOTONIC at " + whole(clock.updates_total) +
                                        " comparisons"));
  line("begin", utc(head.begin.realtime_ns));
  const double duration = data.duration_ns();
  line("duration", duration > 0 ? decimal(duration / 1e9, 3) + " s" : unknown_text);
  switch (static_cast<segment_format::state>(relaxed_load(head.state))) {
    case segment_format::state::finished: line("end", "finished"); break;
    case segment_format::state::live:
      line("end", "not finished: the process runs or was killed");
      break;
    default: line("end", unknown_text);
  }
  for (const std::string& note : data.extra.notes) line("note", note);
}

}  // namespace detail

FABSCOPE_SESSION_INLINE std::string render_report(const segment_view& view,
                                                  const report_extra& extra) {
  const detail::report_data data(view, extra);
  std::string text;
  detail::print_process(text, data);
  detail::print_findings(text, data);
  detail::print_open(text, data);
  detail::print_in_flight(text, data);
  detail::print_errors(text, data);
  detail::print_nics(text, data);
  detail::print_nic_counters(text, data);
  detail::print_moved_with_slow(text, data);
  detail::print_kinds(text, data);
  detail::print_queues(text, data);
  detail::print_collectives(text, data);
  detail::print_set_up(text, data);
  detail::print_steps(text, data);
  detail::print_scopes(text, data);
  detail::print_links(text, data);
  detail::print_losses(text, data);
  detail::print_cost(text, data);
  return text;
}

FABSCOPE_NAMESPACE_END
