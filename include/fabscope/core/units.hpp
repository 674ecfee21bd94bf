// SPDX-License-Identifier: Apache-2.0
// Bytes and bytes per second as types of their own. Layer: core.
#pragma once

#include <compare>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// An amount of data. GB is 10^9 bytes and GiB is 2^30, everywhere in this library.
struct FABSCOPE_VISIBLE bytes {
  std::uint64_t value = 0;

  FABSCOPE_HIDDEN constexpr bytes& operator+=(bytes other) noexcept {
    value += other.value;
    return *this;
  }
  friend constexpr bytes operator+(bytes a, bytes b) noexcept { return {a.value + b.value}; }
  /// Saturates at zero: a difference of two amounts is never a huge amount.
  friend constexpr bytes operator-(bytes a, bytes b) noexcept {
    return {a.value > b.value ? a.value - b.value : 0};
  }
  friend constexpr bytes operator*(bytes a, std::uint64_t n) noexcept { return {a.value * n}; }
  friend constexpr bytes operator*(std::uint64_t n, bytes a) noexcept { return a * n; }
  friend constexpr auto operator<=>(bytes, bytes) noexcept = default;
};

inline constexpr bytes kB{1'000};
inline constexpr bytes MB{1'000'000};
inline constexpr bytes GB{1'000'000'000};
inline constexpr bytes KiB{std::uint64_t{1} << 10};
inline constexpr bytes MiB{std::uint64_t{1} << 20};
inline constexpr bytes GiB{std::uint64_t{1} << 30};

/// A bandwidth. Units: bytes per second.
struct FABSCOPE_VISIBLE byte_rate {
  double value = 0.0;

  [[nodiscard]] FABSCOPE_HIDDEN constexpr double gigabytes_per_second() const noexcept {
    return value / 1e9;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double gigabits_per_second() const noexcept {
    return value * 8 / 1e9;
  }
  friend constexpr byte_rate operator+(byte_rate a, byte_rate b) noexcept {
    return {a.value + b.value};
  }
  friend constexpr byte_rate operator*(byte_rate a, double factor) noexcept {
    return {a.value * factor};
  }
  friend constexpr double operator/(byte_rate a, byte_rate b) noexcept { return a.value / b.value; }
  friend constexpr auto operator<=>(byte_rate, byte_rate) noexcept = default;
};

/// What `amount` in `duration_ns` makes per second; 0 where no time passed.
constexpr byte_rate rate(bytes amount, std::uint64_t duration_ns) noexcept {
  if (duration_ns == 0) {
    return {};
  }
  return {static_cast<double>(amount.value) * 1e9 / static_cast<double>(duration_ns)};
}

FABSCOPE_NAMESPACE_END
