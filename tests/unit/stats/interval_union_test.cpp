// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fabscope/stats/interval_union.hpp>
#include <memory>
#include <random>
#include <vector>

namespace fs = fabscope;

namespace {

// The measure by marking every unit of time.
std::uint64_t brute_force(const std::vector<fs::interval>& all, std::size_t span) {
  std::vector<bool> covered(span);
  for (const auto& i : all) {
    for (std::uint64_t t = i.begin; t < i.end; ++t) covered[static_cast<std::size_t>(t)] = true;
  }
  return static_cast<std::uint64_t>(std::count(covered.begin(), covered.end(), true));
}

std::vector<fs::interval> random_intervals(std::mt19937& random, std::size_t count,
                                           std::uint64_t span, std::uint64_t longest) {
  std::vector<fs::interval> all(count);
  for (auto& i : all) {
    i.begin = random() % (span - longest);
    i.end = i.begin + random() % longest;
  }
  return all;
}

}  // namespace

TEST_CASE("stats.interval_union: equals brute force in any order while everything fits") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto all = random_intervals(random, 1 + random() % 60, 2000, 1 + random() % 100);
    fs::basic_interval_union<64> u;
    for (const auto& i : all) u.add(i);
    REQUIRE(u.total() == brute_force(all, 2000));
    REQUIRE(u.uncertain() == 0);
  }
}

TEST_CASE("stats.interval_union: exact with little memory if late arrivals are recent") {
  std::mt19937 random(2);
  auto all = random_intervals(random, 5000, 200000, 40);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
  fs::basic_interval_union<64> u;
  for (const auto& i : all) u.add(i);
  CHECK(u.total() == brute_force(all, 200000));
  CHECK(u.uncertain() == 0);
  CHECK(u.size() <= 64);
}

TEST_CASE("stats.interval_union: brackets the truth when too much comes in the wrong order") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto all = random_intervals(random, 300, 20000, 50);
    fs::basic_interval_union<16> u;
    for (const auto& i : all) u.add(i);
    const std::uint64_t exact = brute_force(all, 20000);
    REQUIRE(u.total() <= exact);
    REQUIRE(u.total() + u.uncertain() >= exact);
    REQUIRE(u.size() <= 16);
  }
}

TEST_CASE("stats.interval_union: touching intervals join, empty and reversed ones are nothing") {
  fs::interval_union u;
  u.add(10, 20);
  u.add(20, 30);
  u.add(5, 5);
  u.add(9, 3);
  CHECK(u.total() == 20);
  CHECK(u.size() == 1);
  u.add(0, 100);
  CHECK(u.total() == 100);
}

TEST_CASE("stats.interval_union: a thread's merger loses nothing and joins what overlaps") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    auto all = random_intervals(random, 200, 5000, 60);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
    if (round % 2 == 1) std::shuffle(all.begin(), all.end(), random);  // a promise broken
    fs::interval_merger merger;
    std::vector<fs::interval> out;
    fs::interval finished;
    for (const auto& i : all) {
      if (merger.add(i.begin, i.end, finished)) out.push_back(finished);
    }
    if (merger.flush(finished)) out.push_back(finished);
    CHECK(!merger.flush(finished));
    REQUIRE(brute_force(out, 5000) == brute_force(all, 5000));
    if (round % 2 == 0) REQUIRE(out.size() < all.size() / 2);
  }
}

TEST_CASE("stats.interval_union: what another thread sees open was covered") {
  struct shared {
    fs::interval_merger merger;
    std::atomic<bool> done{false};
  };
  static shared s;
  pthread_t writer;
  // Runs of 100 units with gaps of 100: covered are exactly the even hundreds.
  REQUIRE(pthread_create(
              &writer, nullptr,
              [](void*) -> void* {
                fs::interval finished;
                for (std::uint64_t run = 1; run < 200000; ++run) {
                  const std::uint64_t at = run * 200;
                  for (std::uint64_t i = 10; i <= 100; i += 10) {
                    (void)s.merger.add(at + i - 10, at + i, finished);
                  }
                }
                s.done.store(true, std::memory_order_release);
                return nullptr;
              },
              nullptr) == 0);
  std::uint64_t wrong = 0;
  while (!s.done.load(std::memory_order_acquire)) {
    const fs::interval seen = s.merger.current();
    if (seen.length() == 0) continue;
    wrong += seen.begin / 100 % 2 == 0 && seen.length() <= 100 ? 0U : 1U;
  }
  pthread_join(writer, nullptr);
  CHECK(wrong == 0);
  CHECK(s.merger.current().length() == 100);
}
