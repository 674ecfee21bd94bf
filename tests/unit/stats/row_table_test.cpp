// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <fabscope/stats/row_table.hpp>
#include <map>
#include <vector>

namespace fs = fabscope;

namespace {

template <std::size_t Words>
struct key_of {
  std::uint64_t word[Words];
};

template <std::size_t Words>
struct row_of {
  using key_type = key_of<Words>;
  std::uint64_t used;
  key_type name;
  std::uint64_t count;
  [[nodiscard]] key_type key() const noexcept { return name; }
  void set_key(const key_type& k) noexcept { name = k; }
};

template <class Row>
struct table {
  explicit table(std::uint32_t rows_wanted)
      : rows(rows_wanted), index(fs::row_table<Row>::index_bytes(rows_wanted) / 4) {
    it.attach(rows.data(), rows_wanted, index.data());
  }
  std::vector<Row> rows;
  std::vector<std::uint32_t> index;
  fs::row_table<Row> it;
};

using one = row_of<1>;
using two = row_of<2>;
using three = row_of<3>;

template <class Row>
typename Row::key_type make_key(std::uint64_t n) {
  typename Row::key_type key{};
  key.word[0] = n % 7;
  key.word[sizeof(key) / 8 - 1] += n;  // the last word tells them apart
  return key;
}

}  // namespace

TEST_CASE_TEMPLATE("stats.row_table: sums per key as a map does, and the rest in row 0", Row, one,
                   two, three) {
  table<Row> t(101);
  std::map<std::uint64_t, std::uint64_t> expected;
  std::uint64_t total = 0;
  std::uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t n = (state >> 33) % 300;
    fs::relaxed_add(t.it.find_or_insert(make_key<Row>(n)).count, 1);
    ++expected[n];
    ++total;
  }
  CHECK(t.it.rows_used() == 101);
  CHECK(t.rows[0].used == fs::row_is_other);
  std::uint64_t sum = t.rows[0].count;
  std::uint64_t matched = 0;
  for (std::size_t i = 1; i < t.rows.size(); ++i) {
    CHECK(t.rows[i].used == fs::row_in_use);
    sum += t.rows[i].count;
    for (const auto& [n, count] : expected) {
      const auto key = make_key<Row>(n);
      if (std::memcmp(&key, &t.rows[i].name, sizeof(key)) == 0) {
        CHECK(t.rows[i].count == count);
        ++matched;
      }
    }
  }
  CHECK(sum == total);
  CHECK(t.it.refused_total() == t.rows[0].count);
  if (sizeof(typename Row::key_type) > 8) {
    CHECK(matched == 100);
    CHECK(std::abs(static_cast<double>(t.it.refused_keys()) - 200.0) < 20.0);
  }
}

TEST_CASE("stats.row_table: a zero key is a key, an unused row 0 stays unused") {
  table<two> t(4);
  two& row = t.it.find_or_insert(key_of<2>{});
  CHECK(&row == &t.rows[1]);
  CHECK(&t.it.find_or_insert(key_of<2>{}) == &row);
  CHECK(t.rows[0].used == 0);
  CHECK(t.it.refused_keys() == 0);
  CHECK(&t.it.find_or_insert({{1, 0}}) == &t.rows[2]);
  CHECK(&t.it.find_or_insert({{0, 1}}) == &t.rows[3]);
  CHECK(&t.it.find_or_insert({{1, 1}}) == &t.it.other());
  CHECK(t.rows[0].used == fs::row_is_other);
}

TEST_CASE("stats.row_table: rows left by an earlier thread are found again") {
  table<two> t(64);
  for (std::uint64_t n = 0; n < 40; ++n) fs::relaxed_add(t.it.find_or_insert({{n, n}}).count, n);
  fs::row_table<two> next;
  next.attach(t.rows.data(), 64, t.index.data());
  CHECK(next.rows_used() == 41);
  for (std::uint64_t n = 0; n < 40; ++n) CHECK(next.find_or_insert({{n, n}}).count == n);
  CHECK(next.rows_used() == 41);
  CHECK(&next.find_or_insert({{99, 99}}) == &t.rows[41]);
}

TEST_CASE("stats.row_table: a live reader sees the keys of published rows") {
  static std::vector<two> rows;
  static std::vector<std::uint32_t> index;
  rows.assign(4096, two{});
  index.assign(fs::row_table<two>::index_bytes(4096) / 4, 0);
  static std::atomic<bool> done;
  done = false;
  pthread_t writer;
  REQUIRE(pthread_create(
              &writer, nullptr,
              [](void*) -> void* {
                fs::row_table<two> t;
                t.attach(rows.data(), 4096, index.data());
                for (std::uint64_t n = 0; n < 50000; ++n) {
                  const std::uint64_t key = n % 4095;
                  fs::relaxed_add(t.find_or_insert({{key, ~key}}).count, 1);
                }
                done.store(true, std::memory_order_release);
                return nullptr;
              },
              nullptr) == 0);
  std::uint64_t wrong = 0;
  std::uint64_t sum = 0;
  for (bool last = false; !last;) {
    last = done.load(std::memory_order_acquire);
    sum = 0;
    for (const two& row : rows) {
      if (fs::acquire_load(row.used) == 0) continue;
      wrong += row.name.word[1] == ~row.name.word[0] ? 0U : 1U;
      sum += fs::relaxed_load(row.count);
    }
  }
  pthread_join(writer, nullptr);
  CHECK(wrong == 0);
  CHECK(sum == 50000);
}
