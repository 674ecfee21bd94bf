// SPDX-License-Identifier: Apache-2.0
#include "nic_print.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace nictool {

namespace fs = fabscope;
namespace nic = fabscope::nic;

namespace {

using row = std::vector<std::string>;

std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void print_table(const std::vector<row>& rows, bool aligned, std::FILE* to) {
  std::vector<std::size_t> widths;
  for (const row& one : rows) {
    widths.resize(std::max(widths.size(), one.size()));
    for (std::size_t i = 0; i < one.size(); ++i) widths[i] = std::max(widths[i], one[i].size());
  }
  for (const row& one : rows) {
    std::string line;
    for (std::size_t i = 0; i < one.size(); ++i) {
      line += one[i];
      if (i + 1 == one.size()) break;
      line += aligned ? std::string(widths[i] - one[i].size() + 2, ' ') : "\t";
    }
    std::fprintf(to, "%s\n", line.c_str());
  }
}

const char* text_of(fs::metric_kind kind) {
  switch (kind) {
    case fs::metric_kind::counter: return "counter";
    case fs::metric_kind::gauge: return "gauge";
    case fs::metric_kind::watermark: return "watermark";
  }
  return "?";
}

const char* text_of(fs::nic_role role) {
  constexpr const char* names[] = {"other",      "tx_bytes", "rx_bytes", "tx_packets",
                                   "rx_packets", "pause",    "retry",    "timeout",
                                   "drop",       "ecn",      "error"};
  const auto number = static_cast<std::size_t>(role);
  return number < std::size(names) ? names[number] : "?";
}

std::string end_of_range(const nic::counter_column& one) {
  if (one.format.kind != fs::metric_kind::counter) return "-";
  return one.format.saturates ? "saturates" : "wraps";
}

std::string remarks_on(const nic::counter_column& one) {
  std::string out;
  const auto add = [&](unsigned flag, const char* text) {
    if ((one.flags & flag) != 0) out += (out.empty() ? "" : ",") + std::string(text);
  };
  add(fs::nic_should_be_zero, "should_be_zero");
  add(fs::nic_twin, "twin");
  add(fs::nic_no_total, "no_total");
  return out.empty() ? "-" : out;
}

std::string known(const std::string& text) { return text.empty() ? "-" : text; }

std::string doubts_about(const counter_state& one) {
  std::string out;
  const auto add = [&](std::uint64_t count, const char* text) {
    if (count != 0)
      out += (out.empty() ? "" : ",") + std::string(text) + "=" + std::to_string(count);
  };
  add(one.rate.missing_total() - one.invalid, "missing");
  add(one.invalid, "invalid");
  add(one.rate.wraps_total(), "wraps");
  add(one.rate.resets_total(), "resets");
  add(one.rate.saturated_total(), "saturated");
  add(one.rate.ambiguous_total(), "ambiguous");
  return out.empty() ? "-" : out;
}

bool is_counter(const nic::counter_column& one) {
  return one.format.kind == fs::metric_kind::counter;
}

std::string total_of(const nic::counter_column& about, const counter_state& one) {
  if (!is_counter(about)) return "-";
  return (one.rate.is_exact() ? "" : ">=") + std::to_string(one.rate.total() * about.scale);
}

/// "12.3 M"
std::string with_prefix(double value) {
  constexpr const char* prefixes[] = {" ", " k", " M", " G", " T"};
  std::size_t i = 0;
  for (; value >= 1000 && i + 1 < std::size(prefixes); ++i) value /= 1000;
  return text_of(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value) + prefixes[i];
}

std::string rate_of(double value, const std::string& unit, bool for_people) {
  const std::string what = (unit.empty() ? std::string("1") : unit) + "/s";
  if (for_people) return with_prefix(value) + what;
  return text_of(value > 0 && value < 10 ? "%.3f" : "%.0f", value) + " " + what;
}

}  // namespace

void print_list(const nic::sweep& what, bool terminal) {
  std::vector<row> devices{{"device", "class", "driver", "pci", "numa", "speed_mbps", "netdev",
                            "counters", "directory"}};
  for (const nic::nic_device& one : what.devices()) {
    const auto count = std::count_if(
        what.columns().begin(), what.columns().end(),
        [&](const nic::counter_column& column) { return column.device == one.title(); });
    devices.push_back({one.title(), one.device_class, known(one.driver), known(one.pci),
                       one.numa < 0 ? "-" : std::to_string(one.numa),
                       one.speed_mbps < 0 ? "-" : std::to_string(one.speed_mbps), known(one.netdev),
                       std::to_string(count), one.dir});
  }
  print_table(devices, terminal, stdout);
  std::printf("\n");
  std::vector<row> counters{{"device", "counter", "kind", "bits", "end", "unit", "scale",
                             "refresh_ms", "role", "remarks", "source"}};
  for (const nic::counter_column& one : what.columns()) {
    counters.push_back({one.device, one.name, text_of(one.format.kind),
                        std::to_string(one.format.bits), end_of_range(one), known(one.unit),
                        std::to_string(one.scale),
                        std::to_string(one.format.refresh_ns / 1'000'000), text_of(one.role),
                        remarks_on(one), one.path});
  }
  print_table(counters, terminal, stdout);
}

void print_rates(sampling& from, std::uint64_t now_ns, bool terminal) {
  std::vector<row> rows{{"device", "counter", "now", "total", "doubts"}};
  const auto& columns = from.counters().columns();
  const std::string at =
      "+" + text_of("%.3f", static_cast<double>(now_ns - from.begin_ns()) / 1e9) + " s";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    counter_state& one = from.states()[i];
    const std::uint64_t total = is_counter(columns[i]) ? one.rate.total() : one.rate.value();
    const std::uint64_t moved = total - one.shown_total;
    const std::uint64_t time_ns = one.latest_ns > one.shown_ns ? one.latest_ns - one.shown_ns : 0;
    const bool show = terminal ? total != 0 : moved != 0;
    if (is_counter(columns[i]) && time_ns == 0 && moved == 0 && !terminal) continue;
    std::string now = "-";
    if (!is_counter(columns[i])) {
      now = std::to_string(one.rate.value() * columns[i].scale) + " " + columns[i].unit;
    } else if (time_ns != 0) {
      now = rate_of(static_cast<double>(moved) * static_cast<double>(columns[i].scale) * 1e9 /
                        static_cast<double>(time_ns),
                    columns[i].unit, terminal);
    }
    if (one.latest_ns != 0) one.shown_ns = one.latest_ns;
    one.shown_total = total;
    if (show) {
      rows.push_back(
          {columns[i].device, columns[i].name, now, total_of(columns[i], one), doubts_about(one)});
    }
  }
  if (!terminal) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::printf("%s\t%s\t%s\t%s\t%s\t%s\n", at.c_str(), rows[i][0].c_str(), rows[i][1].c_str(),
                  rows[i][2].c_str(), rows[i][3].c_str(), rows[i][4].c_str());
    }
  } else {
    winsize size{};
    const bool asked = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 5;
    const std::size_t room = asked ? size.ws_row - 4U : 20U;
    const std::size_t all = rows.size() - 1;
    if (rows.size() > room) rows.resize(room);
    std::printf(
        "\033[H\033[Jfabscope-nic %s, %llu samples, %llu missed; %zu of %zu counters have "
        "moved\n\n",
        at.c_str(), static_cast<unsigned long long>(from.row().samples),
        static_cast<unsigned long long>(from.row().missed), all, columns.size());
    print_table(rows, true, stdout);
  }
  std::fflush(stdout);
}

void print_totals(sampling& from, std::FILE* to) {
  std::vector<row> rows{{"device", "counter", "total", "unit", "last", "doubts"}};
  const auto& columns = from.counters().columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const counter_state& one = from.states()[i];
    const std::string doubts = doubts_about(one);
    const bool moved =
        is_counter(columns[i]) ? one.rate.total() != 0 : (one.rate.min)() != (one.rate.max)();
    if (!moved && doubts == "-") continue;
    rows.push_back({columns[i].device, columns[i].name, total_of(columns[i], one),
                    known(columns[i].unit), std::to_string(one.rate.value()), doubts});
  }
  std::fprintf(to, "\n");
  print_table(rows, true, to);
  const fs::nic_sampler_row& row = from.row();
  std::fprintf(to,
               "%llu samples, %llu missed; late by %.1f us (p50), %.1f us (p99); reading took %.1f "
               "us on average\n",
               static_cast<unsigned long long>(row.samples),
               static_cast<unsigned long long>(row.missed),
               static_cast<double>(fs::quantile_of<3>(row.late, 0.5)) / 1e3,
               static_cast<double>(fs::quantile_of<3>(row.late, 0.99)) / 1e3,
               static_cast<double>(row.sweep_ns) / 1e3 /
                   static_cast<double>(row.samples == 0 ? 1 : row.samples));
  for (std::size_t d = 0; d < from.counters().devices().size(); ++d) {
    const nic::sweep::device_state& state = from.counters().state(d);
    if (fs::relaxed_load(state.gone) == 0) continue;
    std::fprintf(to, "%s was gone %llu times and returned %llu times\n",
                 from.counters().devices()[d].title().c_str(),
                 static_cast<unsigned long long>(fs::relaxed_load(state.gone)),
                 static_cast<unsigned long long>(fs::relaxed_load(state.back)));
  }
  std::fflush(to);
}

}  // namespace nictool
