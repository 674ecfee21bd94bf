// SPDX-License-Identifier: Apache-2.0
// The text report: worst things first, rendered from a segment. Layer: session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/session/collector.hpp>
#include <fabscope/session/segment_view.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One file that a sink wrote. offered == written + lost + filtered.
struct report_output {
  std::string kind;
  std::string path;
  std::uint64_t written = 0;
  std::uint64_t lost = 0;
  std::uint64_t filtered = 0;
  bool capped = false;  ///< lost because of FABSCOPE_MAX_MB
};

/// What only the process itself knows at its end; absent for a process that was killed.
struct report_extra {
  record_totals totals;
  bool has_totals = false;
  std::vector<report_output> outputs;
  std::vector<std::string> notes;
};

inline std::string render_report(const segment_view& view, const report_extra& extra = {}) {
  (void)extra;
  return "fabscope " + std::string(view.head().library_version) + "\n";
}

FABSCOPE_NAMESPACE_END
