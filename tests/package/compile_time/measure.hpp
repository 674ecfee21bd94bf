// SPDX-License-Identifier: Apache-2.0
// How the files measure: with fabscope, or as one would without.
#pragma once

#if FABSCOPE
#include <fabscope/scope.hpp>
#define MEASURE(text)                \
  const fabscope::scope measured_ {  \
    fabscope::constant_name<text> {} \
  }
#else
#include <atomic>
#include <chrono>

struct timer {
  explicit timer(std::atomic<long long>& sum) : sum_(sum) {}
  ~timer() {
    const auto span = std::chrono::steady_clock::now() - begin_;
    sum_.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(span).count(),
                   std::memory_order_relaxed);
  }

 private:
  std::atomic<long long>& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};
#define MEASURE(text)                    \
  static std::atomic<long long> sum_{0}; \
  const timer measured_(sum_)
#endif
