// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <fabscope/stats/row_reader.hpp>
#include <map>
#include <span>
#include <vector>

namespace fs = fabscope;

namespace {

struct row {
  using key_type = std::uint64_t;
  std::uint64_t used;
  std::uint32_t low;
  std::uint32_t high;
  std::uint64_t count;
  std::uint64_t most;
  [[nodiscard]] key_type key() const noexcept { return std::uint64_t{high} << 32 | low; }
  void set_key(key_type key) noexcept {
    low = static_cast<std::uint32_t>(key);
    high = static_cast<std::uint32_t>(key >> 32);
  }
  void add(std::uint64_t value) noexcept {
    fs::relaxed_add(count, 1);
    fs::relaxed_max(most, value);
  }
};

void add_up(row& into, const row& from) {
  fs::relaxed_add(into.count, from.count);
  fs::relaxed_max(into.most, from.most);
}

struct table {
  explicit table(std::uint32_t size)
      : rows(size), index(fs::row_table<row>::index_bytes(size) / 4) {
    it.attach(rows.data(), size, index.data());
  }
  std::vector<row> rows;
  std::vector<std::uint32_t> index;
  fs::row_table<row> it;
};

}  // namespace

TEST_CASE("stats.row_reader: shows the rows in use, the row of the rest first") {
  table t(4);
  std::vector<row> seen;
  const auto read = [&] {
    seen.clear();
    fs::for_each_row(std::span<const row>(t.rows), [&](const row& r) { seen.push_back(r); });
  };
  read();
  CHECK(seen.empty());
  t.it.find_or_insert(std::uint64_t{5} << 32 | 7).add(3);
  t.it.find_or_insert(0).add(4);
  read();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].key() == (std::uint64_t{5} << 32 | 7));
  CHECK(seen[0].most == 3);
  CHECK(seen[1].key() == 0);
  for (std::uint64_t key = 10; key < 14; ++key) t.it.find_or_insert(key).add(1);
  read();
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].used == fs::row_is_other);
  CHECK(seen[0].count == 3);
}

TEST_CASE("stats.row_reader: tables add up by key, and what has no room is in the rest") {
  table parts[] = {table(8), table(64), table(64)};  // the first is too small for its keys
  std::map<std::uint64_t, std::uint64_t> expected;
  std::uint64_t total = 0;
  std::uint64_t state = 1;
  for (int i = 0; i < 9000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t key = (state >> 33) % 40 << 20;
    parts[i % 3].it.find_or_insert(key).add(key);
    if (i % 3 != 0) ++expected[key];
    ++total;
  }
  for (const std::uint32_t room : {64U, 20U}) {
    table all(room);
    for (const auto& part : parts) {
      fs::merge_rows(all.it, std::span<const row>(part.rows), add_up);
    }
    std::uint64_t sum = 0;
    std::uint64_t short_of = 0;
    fs::for_each_row(std::span<const row>(all.rows), [&](const row& r) {
      sum += r.count;
      if (r.used == fs::row_in_use) short_of += r.count < expected[r.key()] ? 1U : 0U;
    });
    CHECK(sum == total);
    CHECK(short_of == 0);
    CHECK(all.rows[0].used == fs::row_is_other);
    CHECK(all.it.rows_used() == (room == 64 ? 41 : 20));
    if (room == 64) CHECK(all.rows[0].count == parts[0].rows[0].count);
  }
}

TEST_CASE("stats.row_reader: a live table is read without a wrong key or a lost row") {
  static table* shared = nullptr;
  table t(2048);
  shared = &t;
  static std::atomic<bool> done;
  done = false;
  pthread_t writer;
  REQUIRE(pthread_create(
              &writer, nullptr,
              [](void*) -> void* {
                for (std::uint64_t n = 0; n < 40000; ++n) {
                  const std::uint64_t key = n % 2047;
                  shared->it.find_or_insert(key << 32 | key).add(key);
                }
                done.store(true, std::memory_order_release);
                return nullptr;
              },
              nullptr) == 0);
  std::uint64_t wrong = 0;
  std::uint64_t sum = 0;
  std::uint64_t rows = 0;
  for (bool last = false; !last;) {
    last = done.load(std::memory_order_acquire);
    sum = 0;
    rows = 0;
    fs::for_each_row(std::span<const row>(t.rows), [&](const row& r) {
      wrong += r.low == r.high ? 0U : 1U;
      sum += r.count;
      ++rows;
    });
  }
  pthread_join(writer, nullptr);
  CHECK(wrong == 0);
  CHECK(sum == 40000);
  CHECK(rows == 2047);
}
