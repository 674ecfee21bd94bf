// SPDX-License-Identifier: Apache-2.0
// The scopes of one name over all ranks, and which rank is behind. Layer: mpi.
#pragma once

#include <cstdint>
#include <string>

#include <fabscope/core/version.hpp>
#include <fabscope/mpi/concepts.hpp>
#include <fabscope/stats/sparse_histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace mpi {

/// Units: ns, bytes. Times of each rank are by its own clock's rate, so they may be added up
/// although the ranks' clocks differ.
struct scope_sums {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t inverted_min_ns = 0;  ///< ~ of the shortest, 0 if there is none
  std::uint64_t max_ns = 0;           ///< the longest scope
  std::uint64_t ranks = 0;            ///< that have such scopes
  std::uint64_t most_sum_ns = 0;      ///< sum_ns of the rank with the largest
  std::uint64_t most_rank = 0;        ///< that rank; of equal ones the lowest
  /// Quantiles within 8 %: a rank's own histogram is within 6.3 %.
  sparse_histogram<192, 6> times;

  FABSCOPE_HIDDEN void merge(const scope_sums& other) noexcept {
    count += other.count;
    bytes += other.bytes;
    sum_ns += other.sum_ns;
    if (other.inverted_min_ns > inverted_min_ns) inverted_min_ns = other.inverted_min_ns;
    if (other.max_ns > max_ns) max_ns = other.max_ns;
    const bool first = ranks == 0 || (other.ranks != 0 && other.most_sum_ns == most_sum_ns &&
                                      other.most_rank < most_rank);
    if (first || other.most_sum_ns > most_sum_ns) {
      most_sum_ns = other.most_sum_ns;
      most_rank = other.most_rank;
    }
    ranks += other.ranks;
    times.merge(other.times);
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t min_ns() const noexcept {
    return inverted_min_ns == 0 ? 0 : ~inverted_min_ns;
  }
  /// How far the slowest rank is above the mean of the ranks that have such scopes: 1 is balanced.
  [[nodiscard]] FABSCOPE_HIDDEN double imbalance() const noexcept {
    if (sum_ns == 0) return 1.0;
    return static_cast<double>(most_sum_ns) * static_cast<double>(ranks) /
           static_cast<double>(sum_ns);
  }
};
static_assert(mergeable<scope_sums>);

/// All scopes of one name in one domain.
struct named_scope_sums {
  std::string domain;
  std::string name;
  scope_sums sums;
};

}  // namespace mpi

FABSCOPE_NAMESPACE_END
