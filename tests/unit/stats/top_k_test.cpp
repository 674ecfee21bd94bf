// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fabscope/stats/top_k.hpp>
#include <map>
#include <type_traits>

namespace fs = fabscope;

namespace {

struct xorshift {
  std::uint64_t state;
  std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
};

using truth = std::map<std::uint64_t, std::uint64_t>;

// Few keys are common, many are rare.
std::uint64_t skewed(xorshift& random) { return random() % (1 + random() % (1 + random() % 2000)); }

// Everything that the class promises.
template <std::size_t K>
void check_bounds(const fs::top_k<K>& top, const truth& sums) {
  std::uint64_t total = 0;
  for (const auto& [key, sum] : sums) total += sum;
  CHECK(top.total() == total);
  CHECK(top.absent_most() <= total / K);
  std::uint64_t wrong = 0;
  for (const auto& [key, sum] : sums) {
    const auto* entry = top.find(key);
    if (entry == nullptr) {
      wrong += sum > top.absent_most() ? 1U : 0U;
      continue;
    }
    wrong += sum > entry->sum || sum < entry->sum - entry->error ? 1U : 0U;
    wrong += entry->error > total / K ? 1U : 0U;
  }
  for (const auto& entry : top) wrong += sums.count(entry.key) == 1 ? 0U : 1U;
  CHECK(wrong == 0);
  CHECK(std::is_sorted(top.begin(), top.end(),
                       [](const auto& a, const auto& b) { return a.sum > b.sum; }));
}

}  // namespace

TEST_CASE("stats.top_k: exact while all keys fit") {
  static_assert(std::is_trivially_copyable_v<fs::top_k<4>>);
  fs::top_k<4> top;
  CHECK(top.size() == 0);
  CHECK(top.find(0) == nullptr);
  top.add(7, 10);
  top.add(0, 30);
  top.add(7, 25);
  top.add(9);
  CHECK(top.size() == 3);
  CHECK(top.begin()[0].key == 7);
  CHECK(top.begin()[0].sum == 35);
  CHECK(top.begin()[1].key == 0);
  CHECK(top.begin()[2].sum == 1);
  CHECK(top.is_exact());
  CHECK(top.total() == 66);
}

TEST_CASE_TEMPLATE("stats.top_k: sums stay within their errors in any stream", Top, fs::top_k<1>,
                   fs::top_k<2>, fs::top_k<16>, fs::top_k<64>) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    xorshift random{seed};
    Top top;
    truth sums;
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t key = skewed(random);
      const std::uint64_t amount = random() % 16;
      top.add(key, amount);
      sums[key] += amount;
    }
    check_bounds(top, sums);
  }
}

TEST_CASE("stats.top_k: the worst order for it, all keys in turn, stays within the error") {
  fs::top_k<8> top;
  truth sums;
  for (int round = 0; round < 100; ++round) {
    for (std::uint64_t key = 0; key < 9; ++key) {
      top.add(key);
      ++sums[key];
    }
  }
  check_bounds(top, sums);
  CHECK(!top.is_exact());
}

TEST_CASE_TEMPLATE("stats.top_k: so do merged ones, whatever was merged before", Top, fs::top_k<2>,
                   fs::top_k<16>, fs::top_k<64>) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    xorshift random{seed * 77};
    constexpr int parts = 6;
    Top part[parts];
    truth sums;
    for (int i = 0; i < 20000; ++i) {
      // Parts see different keys, and one of them next to nothing.
      const int which = static_cast<int>(random() % (random() % 50 == 0 ? parts : parts - 1));
      const std::uint64_t key = skewed(random) + static_cast<std::uint64_t>(which) * 30;
      part[which].add(key);
      ++sums[key];
    }
    Top left = part[0];
    for (int i = 1; i < parts; ++i) left.merge(part[i]);
    check_bounds(left, sums);
    Top right = part[5];
    right.merge(part[4]);
    Top middle = part[2];
    middle.merge(part[3]);
    right.merge(middle);
    for (int i = 0; i < 1000; ++i) {  // and goes on counting
      const std::uint64_t key = skewed(random);
      right.add(key, 3);
      sums[key] += 3;
    }
    part[1].merge(part[0]);
    right.merge(part[1]);
    check_bounds(right, sums);
  }
}

TEST_CASE("stats.top_k: a key with more than its share is never missed") {
  fs::top_k<10> top;
  xorshift random{5};
  for (int i = 0; i < 10000; ++i) top.add(i % 9 == 0 ? 1U : 100 + random() % 100000);
  REQUIRE(top.find(1) != nullptr);
  CHECK(top.begin()[0].key == 1);
}

TEST_CASE("stats.top_k: merging exact ones that fit together is exact") {
  fs::top_k<8> a;
  fs::top_k<8> b;
  for (std::uint64_t key = 0; key < 5; ++key) a.add(key, key + 1);
  for (std::uint64_t key = 3; key < 8; ++key) b.add(key, 10);
  a.merge(b);
  CHECK(a.is_exact());
  CHECK(a.size() == 8);
  CHECK(a.find(4)->sum == 15);
  CHECK(a.find(0)->error == 0);
  a.merge(fs::top_k<8>());
  CHECK(a.is_exact());
  CHECK(a.total() == 65);
}

TEST_CASE("stats.top_k: what merging drops, and what one side may have dropped, is accounted for") {
  fs::top_k<2> a;
  fs::top_k<2> b;
  a.add(1, 10);
  a.add(2, 9);
  b.add(3, 8);
  b.add(4, 7);
  a.merge(b);  // both exact, but together too many: key 3 goes with 8
  CHECK(a.absent_most() == 8);
  CHECK(!a.is_exact());
  CHECK(a.find(1)->sum == 10);
  CHECK(a.find(1)->error == 0);
  CHECK(a.find(3) == nullptr);

  fs::top_k<2> c;
  c.add(1, 5);
  c.add(5, 20);
  c.add(6, 30);  // drops key 1
  CHECK(c.find(1) == nullptr);
  CHECK(c.absent_most() == 5);
  fs::top_k<2> d;
  d.add(1, 100);
  d.add(7, 90);
  d.merge(c);  // key 1 may have up to 5 more than d saw, and has
  CHECK(d.find(1)->sum == 105);
  CHECK(d.find(1)->error == 5);
  CHECK(d.find(7)->sum == 95);
  CHECK(d.absent_most() == 35);
  CHECK(d.total() == 245);

  fs::top_k<2> e;  // the same keys on both sides: nothing is dropped, key 1 still is missing
  e.add(5, 1);
  e.add(6, 2);
  e.merge(c);
  CHECK(e.absent_most() == 5);
  CHECK(e.find(5)->sum == c.find(5)->sum + 1);
}
