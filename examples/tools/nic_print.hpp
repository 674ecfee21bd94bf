// SPDX-License-Identifier: Apache-2.0
// What fabscope-nic says: the list, the table that lives, and the totals.
#pragma once

#include <fabscope/nic/sweep.hpp>

#include "nic_sampling.hpp"

namespace nictool {

/// All devices, then all counters. Columns for people on a terminal; else separated by tabs.
void print_list(const fabscope::nic::sweep& what, bool terminal);

/// What moved since the last call. On a terminal the screen; else a line per counter.
void print_rates(sampling& from, std::uint64_t now_ns, bool terminal);

/// Every counter that moved or was not always there, and how the sampling went.
void print_totals(sampling& from, std::FILE* to);

}  // namespace nictool
