// SPDX-License-Identifier: Apache-2.0
// 128-bit and 256-bit integers, and quotients that are rounded once. Layer: stats.
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

/// high * 2^128 + low.
struct wider {
  wide high = 0;
  wide low = 0;
};

constexpr wider product(wide a, wide b) noexcept {
  constexpr wide mask = ~std::uint64_t{0};
  const wide low = (a & mask) * (b & mask);
  const wide left = (a >> 64) * (b & mask);
  const wide right = (a & mask) * (b >> 64);
  const wide middle = (low >> 64) + (left & mask) + (right & mask);
  return {(a >> 64) * (b >> 64) + (left >> 64) + (right >> 64) + (middle >> 64),
          middle << 64 | (low & mask)};
}

/// a - b, for a not below b.
constexpr wider difference(const wider& a, const wider& b) noexcept {
  return {a.high - b.high - (a.low < b.low ? 1U : 0U), a.low - b.low};
}

/// a / b to the last place of a double; b is at least 1 and below 2^127.
constexpr double nearest_quotient(const wider& a, wide b) noexcept {
  if (a.high == 0) return nearest_quotient(a.low, b);
  const int shift = width_of(a.high);
  const wide top = shift == 128 ? a.high : a.high << (128 - shift) | a.low >> shift;
  return nearest_quotient(top, b) * power_of_two(shift);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
