// SPDX-License-Identifier: Apache-2.0
// The records that a segment's rings hold, as text, by their descriptions alone.
#pragma once

#include <fabscope/session/segment_view.hpp>
#include <string>

/// A line per record: number, seconds since the session's begin, type, members. Any type, also of
/// another program and another version.
std::string print_records(const fabscope::segment_view& view);
