// SPDX-License-Identifier: Apache-2.0
// 128-bit integers and a quotient that is rounded once. Layer: stats.
#pragma once

// IWYU pragma: private

#include <bit>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

__extension__ using wide = unsigned __int128;

constexpr int width_of(wide value) noexcept {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

/// 2^exponent, for exponents of normal numbers.
constexpr double power_of_two(int exponent) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// value * 2^exponent, rounded to the nearest double, ties to even; `inexact` says that the value
/// is a little more than it seems, and then it must have at least 55 bits.
constexpr double nearest_double(wide value, int exponent, bool inexact) noexcept {
  const int excess = width_of(value) - 53;
  if (excess <= 0) {
    return static_cast<double>(static_cast<std::uint64_t>(value)) * power_of_two(exponent);
  }
  auto mantissa = static_cast<std::uint64_t>(value >> excess);
  const wide rest = value & ((wide{1} << excess) - 1);
  const wide half = wide{1} << (excess - 1);
  if (rest > half || (rest == half && (inexact || (mantissa & 1) != 0))) ++mantissa;
  return static_cast<double>(mantissa) * power_of_two(exponent + excess);
}

/// a / b, rounded to the nearest double, ties to even; b is at least 1 and below 2^127.
constexpr double nearest_quotient(wide a, wide b) noexcept {
  if (a == 0) return 0.0;
  wide quotient = a / b;
  wide rest = a % b;
  int exponent = 0;
  while (width_of(quotient) < 55 && rest != 0) {  // one more binary digit each time
    rest <<= 1;
    quotient <<= 1;
    --exponent;
    if (rest >= b) {
      rest -= b;
      quotient |= 1;
    }
  }
  return nearest_double(quotient, exponent, rest != 0);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
