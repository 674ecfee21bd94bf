// SPDX-License-Identifier: Apache-2.0
// A row of the table of cost budgets: what is measured, against what, and what it may cost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <fabscope/clock/counter_clock.hpp>

namespace bench {

/// One thing, done n times by `body(n, thread)`. All lanes of a row are measured in turn, block by
/// block, so that they see the same state of the machine.
struct lane {
  const char* name;
  std::function<void(std::size_t, unsigned)> body;
  unsigned threads = 1;  ///< 2: two threads do it at the same time; the figure is per thread
  unsigned phase = 0;    ///< lanes of one phase are measured together, between enter and leave
  /// Asked after each block of n; false: something happened that the block does not count with.
  std::function<bool(std::size_t n)> sound = {};
  /// Nanoseconds of the last block, where the body waits in between; absent: its CPU time.
  std::function<double()> took = {};
  std::size_t count = 0;  ///< operations per block, found by the harness
};

/// In the row's unit; the ratio of the two is what the budget is about.
struct figures {
  double ours = 0;
  double reference = 0;
};

struct row {
  std::string name;
  std::string reference;  ///< what the reference is, in words
  double budget = 0;      ///< most that ours / reference may be; 0: for comparison only
  std::vector<lane> lanes = {};
  /// From the lanes' nanoseconds per operation to the row's figures; absent: lanes 0 and 1.
  std::function<figures(const std::vector<double>&)> combine = {};
  std::function<void(unsigned phase)> enter = {};
  std::function<void(unsigned phase)> leave = {};
  /// For what is no mean cost of many operations; replaces the lanes.
  std::function<figures(double seconds)> measure = {};
  const char* unit = "ns";
  std::string remark = {};
  /// Why it cannot be measured here, or an empty text; asked before each repetition.
  std::function<std::string()> absent = {};
};

/// All rows, in the order of the table.
inline std::vector<row>& rows() {
  static std::vector<row> all;
  return all;
}

/// Each source of rows offers one of these; main calls them in the order of the table.
void add_scope_rows();
void add_ring_rows();
void add_pool_rows();
void add_fabric_rows();
void add_text_rows();
void add_sum_rows();
void add_memory_rows();
void add_nic_rows();

/// The program's answer to this argument: MiB that a session keeps resident, on a line.
inline constexpr const char* resident_argument = "--resident";
int print_resident();

/// The clock that a session would choose here.
inline fabscope::clock_kind best_clock() {
  static const fabscope::clock_kind kind = fabscope::pick_clock();
  return kind;
}

/// Bare clock reads whose results nobody keeps: the measure of everything else.
template <int Reads>
inline void bare_reads(std::size_t n, unsigned) noexcept {
  const fabscope::clock_kind kind = best_clock();
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < Reads; ++k) {
      const std::uint64_t ticks = fabscope::now_ticks(kind);
      asm volatile("" : : "r"(ticks));
    }
  }
}
inline lane two_reads() { return {"two bare clock reads", bare_reads<2>}; }
inline lane one_read() { return {"one bare clock read", bare_reads<1>}; }

/// Adds the row `name` with the budget in units of two clock reads, and its `two_threads` row.
void add_with_threads(const char* name, double budget, row common);

}  // namespace bench
