// SPDX-License-Identifier: Apache-2.0
// Command line of fabscope-nic.
#pragma once

#include <cstdint>
#include <fabscope/nic/files.hpp>
#include <string>
#include <string_view>

namespace nictool {

struct choices {
  std::uint32_t interval_ms = 1000;
  std::string devices;    ///< empty: the NICs of the machine
  std::string counters;   ///< empty: each driver's usual ones
  std::string csv;        ///< empty: none; "-": standard output
  double duration_s = 0;  ///< 0: until a signal comes
  bool list = false;
  fabscope::nic::roots where;
};

/// One line on stderr, and status 2.
[[noreturn]] void mistake(std::string_view name, std::string_view found, std::string_view allowed);

/// Ends the program with status 0 after --help, and with 2 where an argument is not allowed.
choices read_arguments(int count, char** arguments);

}  // namespace nictool
