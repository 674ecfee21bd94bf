// SPDX-License-Identifier: Apache-2.0
// How likely it is that two things came together by chance. Layer: stats.
#pragma once

#include <cmath>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Windows of time, by whether something slow was in them and whether a counter moved in them.
struct FABSCOPE_VISIBLE coincidence {
  std::uint64_t slow_moved = 0;
  std::uint64_t slow_still = 0;
  std::uint64_t quiet_moved = 0;
  std::uint64_t quiet_still = 0;

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t slow() const noexcept {
    return slow_moved + slow_still;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t quiet() const noexcept {
    return quiet_moved + quiet_still;
  }

  /// The probability that at least as many of the slow windows had moved if slow and quiet ones
  /// were the same: Fisher's exact test, one-sided. 1 where there is nothing to compare.
  /// Cost: a few logarithms of the gamma function per slow window.
  [[nodiscard]] FABSCOPE_HIDDEN double chance() const noexcept {
    const std::uint64_t moved = slow_moved + quiet_moved;
    const std::uint64_t all = slow() + quiet();
    if (slow() == 0 || quiet() == 0 || moved == 0) return 1;
    const double total = log_choose(all, slow());
    const std::uint64_t most = moved < slow() ? moved : slow();
    double sum = 0;
    for (std::uint64_t k = slow_moved; k <= most; ++k) {
      if (slow() - k > all - moved) continue;
      sum += std::exp(log_choose(moved, k) + log_choose(all - moved, slow() - k) - total);
    }
    return sum < 1 ? sum : 1;
  }

 private:
  FABSCOPE_HIDDEN static double log_factorial(std::uint64_t n) noexcept {
    int sign = 0;  // not std::lgamma, which writes a global
    return ::lgamma_r(static_cast<double>(n) + 1, &sign);
  }
  FABSCOPE_HIDDEN static double log_choose(std::uint64_t n, std::uint64_t k) noexcept {
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
  }
};

FABSCOPE_NAMESPACE_END
