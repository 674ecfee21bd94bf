// SPDX-License-Identifier: Apache-2.0
#include "nic_options.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fabscope/session/options.hpp>

namespace nictool {
namespace {

constexpr const char* help =
    "fabscope-nic: samples the hardware counters of NICs\n"
    "\n"
    "  --list           what there is: each NIC, each counter and all that is known of it\n"
    "  --interval MS    time between two samples, 1 to 3600000, default 1000\n"
    "  --devices LIST   names with *, class:name, name:port, PCI addresses, or all; with commas\n"
    "                   between. Default: all NICs; where there is none, all interfaces\n"
    "  --counters LIST  names, prefix*, rh:name, rh:, ethtool:name, ethtool:, groups, or all.\n"
    "                   A name that has a comma stands in double quotes. Default: by driver\n"
    "  --duration S     seconds, 0.001 to 1000000000; default: until SIGINT or SIGTERM\n"
    "  --csv FILE       a new file for every sample; -: standard output, without a table\n"
    "  --sys-root DIR   instead of /sys\n"
    "  --run-root DIR   instead of /run\n"
    "\n"
    "Status: 0, 1 if nothing can be sampled or samples were lost, 2 for a wrong argument.\n";

template <class Number>
Number number(std::string_view name, std::string_view text, Number low, Number high,
              std::string_view allowed) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || !(value >= low && value <= high)) mistake(name, text, allowed);
  return value;
}

std::string directory(std::string_view name, std::string_view text) {
  std::string path(text);
  if (!fabscope::nic::detail::is_directory(path)) mistake(name, text, "an existing directory");
  return path;
}

}  // namespace

void mistake(std::string_view name, std::string_view found, std::string_view allowed) {
  const std::string shown = fabscope::detail::printable(std::string(found).c_str());
  std::fprintf(stderr, "fabscope-nic: %.*s: found '%s', allowed: %.*s\n",
               static_cast<int>(name.size()), name.data(), shown.c_str(),
               static_cast<int>(allowed.size()), allowed.data());
  std::exit(2);
}

choices read_arguments(int count, char** arguments) {
  choices out;
  for (int i = 1; i < count; ++i) {
    std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (name == "--list") {
      out.list = true;
      continue;
    }
    bool known = false;
    for (const char* one : {"--interval", "--devices", "--counters", "--duration", "--csv",
                            "--sys-root", "--run-root"}) {
      known = known || name == one;
    }
    if (!known) mistake("argument", name, "see fabscope-nic --help");
    if (i + 1 == count) mistake(name, "nothing", "a value behind it; see fabscope-nic --help");
    const std::string_view value = arguments[++i];
    if (name == "--interval") {
      out.interval_ms = number<std::uint32_t>(name, value, 1, 3600000, "1 to 3600000 milliseconds");
    } else if (name == "--duration") {
      out.duration_s = number<double>(name, value, 0.001, 1e9, "0.001 to 1000000000 seconds");
    } else if (name == "--devices") {
      out.devices = value;
    } else if (name == "--counters") {
      out.counters = value;
    } else if (name == "--csv") {
      if (value.empty()) mistake(name, value, "a file that is not there yet, or -");
      out.csv = value;
    } else if (name == "--sys-root") {
      out.where.sys = directory(name, value);
    } else {
      out.where.run = directory(name, value);
    }
  }
  if (out.list && (!out.csv.empty() || out.duration_s != 0)) {
    mistake("--list", "--csv or --duration beside it", "--list samples nothing");
  }
  return out;
}

}  // namespace nictool
