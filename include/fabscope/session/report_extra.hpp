// SPDX-License-Identifier: Apache-2.0
// What only the process itself knows at its end, for its report. Layer: session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/session/collector.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One file that a sink wrote: it was offered written + lost + filtered records.
struct report_output {
  std::string kind;
  std::string path;
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t filtered = 0;
  bool capped = false;  ///< lost because of FABSCOPE_MAX_MB
};

/// Empty for a segment that somebody else left.
struct report_extra {
  record_totals totals;
  bool has_totals = false;
  std::vector<report_output> outputs;
  std::vector<std::string> notes;  ///< sentences that the report repeats, e.g. "not kill-safe"
};

FABSCOPE_NAMESPACE_END
