// SPDX-License-Identifier: Apache-2.0
// Algorithm and bus bandwidth of collective operations. Layer: stats.
//
// Source: doc/PERFORMANCE.md and the bandwidth functions in src/ of nccl-tests and rccl-tests. For
// an operation of size S in time t among n ranks: algbw = S / t, busbw = algbw * factor.
#pragma once

#include <cstdint>

#include <fabscope/core/units.hpp>
#include <fabscope/event/collective.hpp>
#include <fabscope/stats/detail/wide.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// An exact factor in lowest terms.
struct FABSCOPE_VISIBLE fraction {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;

  /// a / b in lowest terms; b is not 0.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr fraction of(std::uint64_t a,
                                                             std::uint64_t b) noexcept {
    const std::uint64_t common = divisor(a, b);
    return {a / common, b / common};
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double value() const noexcept {
    return detail::nearest_quotient(numerator, denominator);
  }
  friend constexpr fraction operator*(fraction a, fraction b) noexcept {
    const fraction left = of(a.numerator, b.denominator);  // cross-wise: the result is reduced
    const fraction right = of(b.numerator, a.denominator);
    return {left.numerator * right.numerator, left.denominator * right.denominator};
  }
  friend constexpr bool operator==(fraction, fraction) noexcept = default;

 private:
  FABSCOPE_HIDDEN static constexpr std::uint64_t divisor(std::uint64_t a,
                                                         std::uint64_t b) noexcept {
    while (a != 0) {
      const std::uint64_t rest = b % a;
      b = a;
      a = rest;
    }
    return b;
  }
};

/// True if the document or the tests define the bandwidth of the operation.
constexpr bool has_formula(collective kind) noexcept {
  return kind > collective::none && kind < collective::count_;
}

/// What the size S of an operation is of the bytes that a call names (its count times the size of
/// its data type). Calls that name the part of one rank or one peer have n times as much. 0 for no
/// ranks and for an unknown operation.
constexpr fraction size_factor(collective kind, std::uint32_t ranks) noexcept {
  if (ranks == 0) return {};
  switch (kind) {
    case collective::all_gather:
    case collective::all_gather_v:
    case collective::reduce_scatter:
    case collective::all_to_all:
    case collective::all_to_all_v:
    case collective::gather:
    case collective::scatter: return {ranks, 1};
    case collective::hypercube: return {ranks - 1, 1};
    case collective::all_reduce:
    case collective::broadcast:
    case collective::reduce:
    case collective::send:
    case collective::recv:
    case collective::send_recv: return {1, 1};
    case collective::none:
    case collective::count_: break;
  }
  return {};
}

/// What the bus bandwidth is of the algorithm bandwidth. With one rank it is what the formula
/// gives: 0 where data would go to the other ranks, 1 where the formula does not know n. 0 for no
/// ranks and for an unknown operation.
constexpr fraction bus_factor(collective kind, std::uint32_t ranks) noexcept {
  if (ranks == 0) return {};
  switch (kind) {
    case collective::all_reduce: return fraction::of(std::uint64_t{2} * (ranks - 1), ranks);
    case collective::all_gather:
    case collective::all_gather_v:
    case collective::reduce_scatter:
    case collective::all_to_all:
    case collective::all_to_all_v:
    case collective::gather:
    case collective::scatter: return fraction::of(ranks - 1, ranks);
    case collective::broadcast:
    case collective::reduce:
    case collective::send:
    case collective::recv:
    case collective::send_recv:
    case collective::hypercube: return {1, 1};
    case collective::none:
    case collective::count_: break;
  }
  return {};
}

/// The factor of an AllReduce whose additions are made in the network; 0 for no ranks.
constexpr fraction in_network_bus_factor(std::uint32_t ranks) noexcept {
  if (ranks == 0) return {};
  return fraction::of(ranks - 1, std::uint64_t{ranks} + 1);
}

/// `factor` times what `amount` in `duration_ns` makes per second, computed in integers and rounded
/// once; 0 where no time passed. The numerator is below 2^34.
constexpr byte_rate scaled_rate(bytes amount, fraction factor, std::uint64_t duration_ns) noexcept {
  if (duration_ns == 0) return {};
  const detail::wide per_second = detail::wide{amount.value} * factor.numerator * 1'000'000'000U;
  return {detail::nearest_quotient(per_second, detail::wide{factor.denominator} * duration_ns)};
}

/// Both bandwidths of an operation. Where no time passed, or the operation or its ranks are not
/// known, both are 0 and `known` is false.
struct FABSCOPE_VISIBLE bandwidth {
  byte_rate algorithm;
  byte_rate bus;
  bool known = false;
};

/// From the size S: the bytes of a rank's larger buffer; of the whole, not of one peer's part; for
/// Send and Recv the message; for the hypercube what a rank receives.
constexpr bandwidth bandwidth_of(collective kind, bytes size, std::uint32_t ranks,
                                 std::uint64_t duration_ns) noexcept {
  if (!has_formula(kind) || ranks == 0 || duration_ns == 0) return {};
  return {scaled_rate(size, {1, 1}, duration_ns),
          scaled_rate(size, bus_factor(kind, ranks), duration_ns), true};
}

/// From the bytes that the call names, see size_factor; exact also where S has more than 64 bits.
constexpr bandwidth bandwidth_of_call(collective kind, bytes argument, std::uint32_t ranks,
                                      std::uint64_t duration_ns) noexcept {
  if (!has_formula(kind) || ranks == 0 || duration_ns == 0) return {};
  const fraction size = size_factor(kind, ranks);
  return {scaled_rate(argument, size, duration_ns),
          scaled_rate(argument, size * bus_factor(kind, ranks), duration_ns), true};
}

FABSCOPE_NAMESPACE_END
