// SPDX-License-Identifier: Apache-2.0
// pool_cycle: an object for an event in flight is taken, written to and given back.
#include <benchmark/benchmark.h>

#include <boost/lockfree/stack.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include <fabscope/core/config.hpp>
#include <fabscope/pool/slot_pool.hpp>

#include <support/row.hpp>

namespace bench {
namespace {

constexpr std::size_t in_flight = 8;
constexpr std::uint32_t objects = 1024;

struct object {
  std::uint64_t word[15];
};

struct our_pool {
  fabscope::slot_pool<object> pool;
  struct alignas(fabscope::cache_line) store {
    fabscope::slot_pool<object>::magazine magazine;
  };
  store own[2];

  our_pool() {
    (void)pool.reserve(objects);
    pool.prefault(objects);
  }
  object* get(unsigned thread) { return pool.get(own[thread].magazine); }
  void put(unsigned thread, object* one) { pool.put(own[thread].magazine, one); }
};

struct mutex_vector {
  std::vector<object> memory = std::vector<object>(objects);
  std::vector<object*> free;
  std::mutex lock;

  mutex_vector() {
    for (object& one : memory) free.push_back(&one);
  }
  object* get(unsigned) {
    const std::lock_guard<std::mutex> guard(lock);
    if (free.empty()) return nullptr;
    object* one = free.back();
    free.pop_back();
    return one;
  }
  void put(unsigned, object* one) {
    const std::lock_guard<std::mutex> guard(lock);
    free.push_back(one);
  }
};

struct boost_stack {
  std::vector<object> memory = std::vector<object>(objects);
  boost::lockfree::stack<object*, boost::lockfree::fixed_sized<true>> free{objects};

  boost_stack() {
    for (object& one : memory) (void)free.bounded_push(&one);
  }
  object* get(unsigned) {
    object* one = nullptr;
    (void)free.pop(one);
    return one;
  }
  void put(unsigned, object* one) { (void)free.bounded_push(one); }
};

/// Each thread has a few objects in flight and gives the oldest back.
template <class Pool>
lane cycle(const std::shared_ptr<Pool>& pool) {
  return {"get and put", [pool](std::size_t n, unsigned thread) {
            Pool& from = *pool;
            object* held[in_flight];
            for (auto& one : held) one = from.get(thread);
            for (std::size_t i = 0; i < n; ++i) {
              object*& oldest = held[i % in_flight];
              from.put(thread, oldest);
              oldest = from.get(thread);
              oldest->word[0] = i;
              benchmark::DoNotOptimize(oldest);
            }
            for (auto* one : held) from.put(thread, one);
          }};
}

template <class Pool>
void add(const char* name, double budget) {
  add_with_threads(name, budget,
                   {"", "two bare clock reads", 0, {cycle(std::make_shared<Pool>()), two_reads()}});
}

}  // namespace

void add_pool_rows() {
  add<our_pool>("pool_cycle", 0.10);
  add<mutex_vector>("pool_cycle/mutex_vector", 0);
  add<boost_stack>("pool_cycle/boost_stack", 0);
}

}  // namespace bench
