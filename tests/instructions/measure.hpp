// SPDX-License-Identifier: Apache-2.0
// Does an operation a thousand times, and three thousand times, between two marks for callgrind:
// the difference is two thousand times what one operation costs, and nothing else. A source file
// per kind of operation, so that what the compiler inlines in one does not depend on the others.
#pragma once

#include <valgrind/callgrind.h>

#include <cstddef>
#include <string>

namespace instructions {

/// Each operation has one instruction more.
inline bool planted = false;

/// Once to warm up, then a thousand and three thousand, with `between` where nobody counts.
template <class Work, class Between>
void measure(const char* name, Work work, Between between) {
  work(std::size_t{1000});
  between();
  for (const std::size_t times : {std::size_t{1000}, std::size_t{3000}}) {
    const std::string mark = std::string(name) + " " + std::to_string(times);
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    work(times);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(mark.c_str());
    between();
  }
}

/// `one(i)` is an operation.
template <bool Planted, class One>
[[gnu::noinline]] void repeat(std::size_t times, One& one) {
  for (std::size_t i = 0; i < times; ++i) {
    one(i);
    asm volatile("" : : : "memory");
    if constexpr (Planted) asm volatile("nop");
  }
}
template <class One, class Between>
void row(const char* name, One one, Between between) {
  measure(
      name,
      [&one](std::size_t times) { planted ? repeat<true>(times, one) : repeat<false>(times, one); },
      between);
}
template <class One>
void row(const char* name, One one) {
  row(name, one, [] {});
}

void containers();
void scopes();
void scopes_disabled();
void fabric();

}  // namespace instructions
