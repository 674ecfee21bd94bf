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

/// What was measured under one name, in a list that the end of main prints.
struct measured {
  explicit measured(const char* text) : name(text) {
    while (!first.compare_exchange_weak(next, this, std::memory_order_acq_rel)) {
    }
  }
  const char* name;
  std::atomic<long long> count{0};
  std::atomic<long long> sum_ns{0};
  std::atomic<long long> max_ns{0};
  measured* next = nullptr;
  static inline std::atomic<measured*> first{nullptr};
};

class timer {
 public:
  explicit timer(measured& to) : to_(to) {}
  ~timer() {
    const auto span = std::chrono::steady_clock::now() - begin_;
    const long long ns = std::chrono::duration_cast<std::chrono::nanoseconds>(span).count();
    to_.count.fetch_add(1, std::memory_order_relaxed);
    to_.sum_ns.fetch_add(ns, std::memory_order_relaxed);
    long long max = to_.max_ns.load(std::memory_order_relaxed);
    while (max < ns && !to_.max_ns.compare_exchange_weak(max, ns, std::memory_order_relaxed)) {
    }
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

 private:
  measured& to_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};
#define MEASURE(text)         \
  static measured sum_{text}; \
  const timer measured_(sum_)
#endif
