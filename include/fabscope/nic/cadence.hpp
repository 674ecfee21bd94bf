// SPDX-License-Identifier: Apache-2.0
// When the next sample is due, and what was missed. Layer: nic.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// One point of the grid, as it was met.
struct tick {
  std::uint64_t missed = 0;   ///< points that passed since the one before, without a sample
  std::uint64_t late_ns = 0;  ///< behind this point
};

/// Points t0, t0 + period, t0 + 2 period, ... Who comes late takes the newest point that has passed
/// and skips the others: there is never a burst, and never a drift. Has no clock of its own.
class cadence {
 public:
  cadence(std::uint64_t now_ns, std::uint64_t period_ns) noexcept
      : due_(now_ns), period_(period_ns == 0 ? 1 : period_ns) {}

  /// When the next sample is due.
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_; }
  [[nodiscard]] std::uint64_t period_ns() const noexcept { return period_; }
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= due_; }

  /// Takes the point that is due at `now_ns`, which is not before due_ns().
  tick take(std::uint64_t now_ns) noexcept {
    tick out;
    out.missed = (now_ns - due_) / period_;
    due_ += out.missed * period_;
    out.late_ns = now_ns - due_;
    due_ += period_;
    return out;
  }

 private:
  std::uint64_t due_;
  std::uint64_t period_;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
