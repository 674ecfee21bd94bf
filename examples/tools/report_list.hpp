// SPDX-License-Identifier: Apache-2.0
// The segments of a node.
#pragma once

#include <fabscope/session/segment_view.hpp>
#include <string>

/// True if the process that made the segment runs on this machine now.
bool is_running(const fabscope::segment_view& view);

/// Prints the segments in FABSCOPE_NODE_DIR, else /dev/shm, and how to render them. Returns the
/// exit status.
int list_segments();
