// SPDX-License-Identifier: Apache-2.0
// Measures one repetition of a row.
#pragma once

#include <support/row.hpp>

namespace bench {

/// Runs the row's lanes in turn for about `seconds` and gives the medians of their blocks,
/// combined.
figures measure(row& what, double seconds);

/// Share of blocks that were set aside because a thread was preempted in them, over all rows.
double disturbed_share();

}  // namespace bench
