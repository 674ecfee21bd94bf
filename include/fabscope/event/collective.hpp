// SPDX-License-Identifier: Apache-2.0
// The operations of a collective library, by kind. Layer: event.
#pragma once

#include <cstdint>
#include <string_view>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Vendor-neutral. The values are part of the segment format.
enum class collective : std::uint8_t {
  none = 0,
  all_reduce,
  all_gather,
  all_gather_v,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  all_to_all_v,
  gather,
  scatter,
  send,
  recv,
  send_recv,
  hypercube,
  count_,
};

/// The name as NCCL and RCCL write it, for example "AllReduce".
constexpr const char* to_string(collective kind) noexcept {
  constexpr const char* names[] = {"none",          "AllReduce", "AllGather", "AllGatherV",
                                   "ReduceScatter", "Broadcast", "Reduce",    "AlltoAll",
                                   "AlltoAllv",     "Gather",    "Scatter",   "Send",
                                   "Recv",          "SendRecv",  "HyperCube"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(collective::count_));
  return kind < collective::count_ ? names[static_cast<unsigned>(kind)] : "unknown";
}

/// The operation of a name, in any mixture of upper and lower case, also "All2All"; `none` for a
/// name that is not known.
constexpr collective collective_named(std::string_view name) noexcept {
  const auto lower = [](char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto same = [&](std::string_view a) noexcept {
    if (a.size() != name.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (lower(a[i]) != lower(name[i])) return false;
    }
    return true;
  };
  for (unsigned i = 1; i < static_cast<unsigned>(collective::count_); ++i) {
    const auto kind = static_cast<collective>(i);
    if (same(to_string(kind))) return kind;
  }
  return same("All2All") ? collective::all_to_all : collective::none;
}

/// True for the operations of two ranks.
constexpr bool is_point_to_point(collective kind) noexcept {
  return kind == collective::send || kind == collective::recv || kind == collective::send_recv;
}

FABSCOPE_NAMESPACE_END
