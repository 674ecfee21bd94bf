// SPDX-License-Identifier: Apache-2.0
#include "exchange_pattern.hpp"

#include <algorithm>
#include <cstring>

namespace exchange {
namespace {

/// Spreads the bits of a number over a word (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Word number i of the content: another one for every seed and place.
std::uint64_t word(std::uint64_t seed, std::uint64_t i) { return (seed + i) * 0x9e3779b97f4a7c15U; }

}  // namespace

std::uint64_t label::seed() const {
  std::uint64_t x = mix(std::uint64_t{from} << 32 | to);
  x = mix(x ^ (std::uint64_t{round} << 32 | static_cast<unsigned>(how)));
  return mix(x ^ (std::uint64_t{number} << 32 | bytes));
}

void fill(char* buffer, const label& l) {
  const std::uint64_t seed = l.seed();
  std::size_t at = 0;
  for (; at + 8 <= l.bytes; at += 8) {
    const std::uint64_t w = word(seed, at / 8);
    std::memcpy(buffer + at, &w, 8);
  }
  const std::uint64_t w = word(seed, at / 8);
  std::memcpy(buffer + at, &w, l.bytes - at);
}

std::size_t first_difference(const char* buffer, const label& l) {
  const std::uint64_t seed = l.seed();
  for (std::size_t at = 0; at < l.bytes; at += 8) {
    const std::uint64_t w = word(seed, at / 8);
    const std::size_t n = std::min<std::size_t>(8, l.bytes - at);
    if (std::memcmp(buffer + at, &w, n) == 0) continue;
    const char* want = reinterpret_cast<const char*>(&w);
    while (*want == buffer[at]) ++want, ++at;
    return at;
  }
  return l.bytes;
}

}  // namespace exchange
