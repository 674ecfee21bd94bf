// SPDX-License-Identifier: Apache-2.0
// Which operations a log is to have: by the name of the NIC at the far end, and by size.
// Layer: sink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/sink/context.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The node id in a Slingshot address as libfabric prints it, "fi_addr_cxi://0x%08x": behind 9 bits
/// of the process id come 20 bits of the node's.
/// Source: prov/cxi of libfabric (struct cxip_addr).
constexpr std::optional<std::uint32_t> cxi_nid(std::string_view name) noexcept {
  constexpr std::string_view scheme = "fi_addr_cxi://0x";
  if (name.size() != scheme.size() + 8 || name.substr(0, scheme.size()) != scheme) return {};
  std::uint32_t raw = 0;
  for (const char c : name.substr(scheme.size())) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return {};
    raw = raw << 4 | static_cast<std::uint32_t>(digit);
  }
  return raw >> 9 & 0xfffffU;
}

/// Threads: one at a time.  Cost: a comparison and a load for names that were seen before.
class FABSCOPE_VISIBLE operation_selection {
 public:
  enum class answer { wanted, other_nic, too_small, untimed };

  FABSCOPE_HIDDEN operation_selection() = default;
  FABSCOPE_HIDDEN operation_selection(const operation_selection&) = default;
  FABSCOPE_HIDDEN operation_selection(operation_selection&&) noexcept = default;
  FABSCOPE_HIDDEN operation_selection& operator=(const operation_selection&) = default;
  FABSCOPE_HIDDEN operation_selection& operator=(operation_selection&&) noexcept = default;
  FABSCOPE_HIDDEN ~operation_selection() = default;
  /// `nic`: part of the peer's name for sends, writes and reads, of the own name for receives;
  /// empty: every name. `nid`: the node id that may stand there instead. Operations that failed
  /// or were abandoned pass whatever their size. `timed_only`: none without a completion to time.
  FABSCOPE_HIDDEN operation_selection(std::string nic, std::optional<std::uint32_t> nid,
                                      std::uint64_t min_bytes, bool timed_only = false)
      : nic_(std::move(nic)), nid_(nid), min_bytes_(min_bytes), timed_only_(timed_only) {}

  [[nodiscard]] FABSCOPE_HIDDEN answer ask(const operation_record& record,
                                           const sink_context& about) noexcept {
    if (!nic_.empty()) {
      const bool receive = is_receive(static_cast<operation>(record.op));
      if (!matches(receive ? record.local : record.remote, about)) return answer::other_nic;
    }
    if (timed_only_ && (record.flags & operation_record::untimed) != 0) return answer::untimed;
    const bool good = record.error == 0 && (record.flags & operation_record::abandoned) == 0;
    return good && record.bytes < min_bytes_ ? answer::too_small : answer::wanted;
  }

  [[nodiscard]] FABSCOPE_HIDDEN const std::string& nic() const noexcept { return nic_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t min_bytes() const noexcept { return min_bytes_; }

 private:
  enum state : unsigned char { unknown, yes, no };

  [[nodiscard]] FABSCOPE_HIDDEN bool matches(std::uint32_t label,
                                             const sink_context& about) noexcept {
    if (label >= known_.size()) {
      if (about.label(label).empty()) return false;  // nor is a number kept that nobody knows
      known_.resize(std::size_t{label} + 64);
    }
    if (known_[label] == unknown) {
      const std::string_view name = about.label(label);
      if (name.empty()) return false;
      const bool found = name.find(nic_) != name.npos || (nid_ && cxi_nid(name) == nid_);
      known_[label] = found ? yes : no;
    }
    return known_[label] == yes;
  }

  std::string nic_;
  std::optional<std::uint32_t> nid_;
  std::uint64_t min_bytes_ = 0;
  bool timed_only_ = false;
  std::vector<unsigned char> known_;  // by label
};

FABSCOPE_NAMESPACE_END
