// SPDX-License-Identifier: Apache-2.0
// What only the process itself knows at its end, for its report. Layer: session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/session/collector.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One file, or one sink of the user's: offered == written + lost + filtered. What was read from
/// the rings is offered + not_offered.
struct report_output {
  std::string kind;
  std::string path;               ///< empty: none
  std::uint64_t offered = 0;      ///< records of the types that it takes
  std::uint64_t not_offered = 0;  ///< of other types, or read before it was added
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t filtered = 0;
  std::string reason;  ///< of what was lost, in a word or two
  std::string remedy;  ///< a sentence without its end
};

/// Empty for a segment that somebody else left.
struct report_extra {
  record_totals totals;
  bool has_totals = false;
  std::vector<report_output> outputs;
  std::vector<std::string> notes;  ///< sentences that the report repeats, e.g. "not kill-safe"
};

FABSCOPE_NAMESPACE_END
