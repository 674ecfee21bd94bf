// SPDX-License-Identifier: Apache-2.0
// The number in a counter's file. Layer: nic.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/stats/sample_ring.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Reads "123", "123@1700000000.5" (a stamp of the driver behind it), "123\r\n", "0x1f" and, where
/// a driver prints 32 unsigned bits with a sign, "-5". What is not a number is invalid: nothing, a
/// text, a number of more than 64 bits.
/// Cost: about 1 ns per digit.
FABSCOPE_ALWAYS_INLINE sample_state parse_counter(const char* text, std::size_t size,
                                                  std::uint64_t& value) noexcept {
  const char* at = text;
  const char* const end = text + size;
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  const bool hex = end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
  if (hex) at += 2;
  std::uint64_t sum = 0;
  const char* const digits = at;
  if (hex) {
    for (; at != end; ++at) {
      const char low = static_cast<char>(*at | 0x20);
      unsigned digit = 16;
      if (*at >= '0' && *at <= '9') digit = static_cast<unsigned>(*at - '0');
      if (low >= 'a' && low <= 'f') digit = static_cast<unsigned>(low - 'a') + 10;
      if (digit == 16) break;
      if (sum >> 60 != 0) return sample_state::invalid;
      sum = sum << 4 | digit;
    }
  } else {
    for (; at != end; ++at) {
      const unsigned digit = static_cast<unsigned char>(*at) - unsigned{'0'};
      if (digit > 9) break;
      if (at - digits >= 19 && (sum > ~std::uint64_t{0} / 10 ||
                                (sum == ~std::uint64_t{0} / 10 && digit > ~std::uint64_t{0} % 10)))
        return sample_state::invalid;
      sum = sum * 10 + digit;
    }
  }
  if (at == digits) return sample_state::invalid;
  // Only the end of a line, a stamp, or a blank may follow.
  if (at != end && *at != '\n' && *at != '\r' && *at != '@' && *at != ' ' && *at != '\0')
    return sample_state::invalid;
  if (negative) {
    if (sum > 0x80000000U) return sample_state::invalid;
    sum = (0 - sum) & 0xffffffffU;
  }
  value = sum;
  return sample_state::good;
}

}  // namespace nic

FABSCOPE_NAMESPACE_END
