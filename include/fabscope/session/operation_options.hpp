// SPDX-License-Identifier: Apache-2.0
// What the options about the log of operations mean for this process. Layer: session.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fabscope/session/identity.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/sink/operation_selection.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

inline constexpr std::uint32_t logging_ring_slots = 131072;  ///< 8 MiB per thread that records
inline constexpr std::uint32_t logging_period_ms = 2;

/// Resolves what depends on the rank: the level, and whether ops.csv is among the outputs.
/// Errors: a list of ranks in a process whose rank nobody tells selects nothing, with one line.
inline void settle_operations(options& to, const identity& who, const diagnostics& user) {
  bool selected = true;
  if (to.ops_nic.empty() && !to.ops_ranks.empty()) {
    selected = who.rank >= 0 && has_rank(to.ops_ranks, static_cast<std::uint64_t>(who.rank));
    if (who.rank < 0) {
      user.say(std::string("fabscope: ") + to.ops_ranks_variable + ": '" + printable(to.ops_ranks) +
               "' selects nothing, because no launcher tells this process's rank; "
               "FABSCOPE_OPS_NIC works without a rank");
    }
  }
  const bool raise = to.ops_raise_level && to.run_level == level::count;
  if (selected && !raise && to.run_level == level::count &&
      !(to.ops_nic.empty() && to.ops_ranks.empty())) {
    user.say("fabscope: no operations are logged at level count: set FABSCOPE=record");
  }
  if (selected && raise) {
    const std::uint32_t wanted = to.wanted_outputs();
    to.run_level = level::record;
    to.outputs = wanted | output_csv;
  }
  // Who asks for every operation gets rings that hold what two threads can do in 10 ms at least,
  // and a collector that looks more often.
  if (selected && to.ops_raise_level && to.run_level == level::record) {
    if (to.ring_slots == 0) to.ring_slots = logging_ring_slots;
    if (to.period_ms == options{}.period_ms) to.period_ms = logging_period_ms;
  }
  if (!selected) to.outputs = to.wanted_outputs() & ~std::uint32_t{output_csv};
}

/// The node id that a text may be: a number of at most 20 bits without leading zeros. With them it
/// is the beginning of a whole address, which has eight digits.
constexpr std::optional<std::uint32_t> node_id(std::string_view text) noexcept {
  const bool hex = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const std::string_view digits = hex ? text.substr(2) : text;
  if (digits.size() > 1 && digits[0] == '0') return {};
  const auto number = parse_number(text);
  if (!number || *number > 0xfffff) return {};
  return static_cast<std::uint32_t>(*number);
}

/// The selection that the options describe. `timed_only`: for a file without a column that says it.
inline operation_selection selection_of(const options& from, bool timed_only) {
  return {from.ops_nic, node_id(from.ops_nic), from.ops_min_bytes, timed_only};
}

/// Why a log of operations is empty although there were some; empty if it is not, or there were
/// none.
template <class Log>
std::string why_empty(const Log& log, const options& from) {
  const std::uint64_t offered = log.offered_total();
  if (offered == 0 || log.filtered_total() != offered) return {};
  const std::string of = " of " + std::to_string(offered) + " operations ";
  const std::string nic = std::string(from.ops_nic_variable) + "='" + printable(from.ops_nic) + "'";
  if (log.other_nic_total() == offered) {
    return nic + " matched none" + of + "of this process; the report's section links has the names";
  }
  if (log.too_small_total() + log.other_nic_total() != offered) return {};
  return "no operation was logged: none" + of +
         (from.ops_nic.empty() ? "" : "matches " + nic + " and ") + "has the " +
         std::to_string(from.ops_min_bytes) + " bytes that FABSCOPE_OPS_MIN_BYTES asks for";
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
