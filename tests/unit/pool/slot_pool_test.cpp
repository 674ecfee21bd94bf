// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fabscope/pool/slot_pool.hpp>
#include <set>
#include <vector>

namespace fs = fabscope;

namespace {

struct plain {
  std::uint64_t value = 0;
};
struct alignas(64) lending {
  unsigned char foreign[64];
  std::uint64_t value;
  fs::slot_tag pool_tag;
};

using plain_pool = fs::slot_pool<plain>;
using lending_pool = fs::slot_pool<lending>;

}  // namespace

TEST_CASE_TEMPLATE("pool.slot_pool: all slots are different, owned and found", Pool, plain_pool,
                   lending_pool) {
  Pool pool;
  REQUIRE(pool.reserve(256) == fs::errc::ok);
  typename Pool::magazine mine;
  std::set<typename Pool::value_type*> seen;
  std::vector<typename Pool::value_type*> taken;
  while (auto* object = pool.get(mine)) {
    CHECK(object->value == 0);
    object->value = 1;
    CHECK(pool.owns(object));
    CHECK(seen.insert(object).second);
    CHECK(pool.find(pool.handle_of(object)) == object);
    taken.push_back(object);
  }
  CHECK(taken.size() == 256);
  CHECK(pool.in_use() == 256);
  CHECK(pool.refused_total() == 1);
  CHECK(!pool.owns(&pool));
  CHECK(!pool.owns(nullptr));
  CHECK(!pool.owns(reinterpret_cast<const unsigned char*>(*seen.rbegin()) +
                   2 * sizeof(typename Pool::value_type)));
  for (auto* object : taken) pool.put(mine, object);
  CHECK(pool.in_use() == 0);
  pool.drain(mine);
  CHECK(mine.size() == 0);
  std::size_t again = 0;
  while (pool.get(mine) != nullptr) ++again;
  CHECK(again == 256);
  CHECK(pool.misused_total() == 0);
}

TEST_CASE("pool.slot_pool: a tag lent by the type costs no room") {
  lending_pool pool;
  REQUIRE(pool.reserve(16) == fs::errc::ok);
  lending_pool::magazine mine;
  const auto* a = pool.get(mine);
  const auto* b = pool.get(mine);
  CHECK(reinterpret_cast<const unsigned char*>(b) - reinterpret_cast<const unsigned char*>(a) ==
        static_cast<std::ptrdiff_t>(sizeof(lending)));
  CHECK(sizeof(lending) == 128);
}

TEST_CASE("pool.slot_pool: handles go stale, strangers are not found") {
  plain_pool pool;
  CHECK(pool.find(fs::handle(0, 1)) == nullptr);  // before reserve
  REQUIRE(pool.reserve(64, 0x1234567) == fs::errc::ok);
  CHECK(pool.reserve(64) == fs::errc::invalid_argument);
  plain_pool::magazine mine;
  plain* first = pool.get(mine);
  const fs::handle name = pool.handle_of(first);
  CHECK(name.may_live());
  CHECK(pool.find(name) == first);
  pool.put(mine, first);
  CHECK(pool.find(name) == nullptr);
  plain* second = pool.get(mine);
  CHECK(second == first);
  CHECK(pool.find(name) == nullptr);
  CHECK(pool.find(pool.handle_of(second)) == second);
  CHECK(pool.find(fs::handle()) == nullptr);
  CHECK(pool.find(fs::handle::tombstone()) == nullptr);
  CHECK(pool.find(fs::handle(5, name.generation())) == nullptr);   // never taken
  CHECK(pool.find(fs::handle(63, name.generation())) == nullptr);  // never carved
  CHECK(pool.find(fs::handle(64, name.generation())) == nullptr);
  CHECK(pool.find(fs::handle(0xffffffffU, name.generation())) == nullptr);
  CHECK(pool.find(fs::handle::from_pointer(&pool)) == nullptr);
  CHECK(pool.handle_of(nullptr).is_tombstone());
  plain_pool other;  // a pool with another seed does not know the handle
  REQUIRE(other.reserve(64, 0x7654321) == fs::errc::ok);
  plain_pool::magazine theirs;
  (void)other.get(theirs);
  CHECK(other.find(name) == nullptr);
}

TEST_CASE("pool.slot_pool: double and foreign puts are counted and change nothing") {
  plain_pool pool;
  REQUIRE(pool.reserve(16) == fs::errc::ok);
  plain_pool::magazine mine;
  plain* object = pool.get(mine);
  pool.put(mine, object);
  pool.put(mine, object);
  plain outside;
  plain* stranger = &outside;
  asm volatile("" : "+r"(stranger));  // keeps the compiler from warning about what must not happen
  pool.put(mine, stranger);
  stranger = nullptr;
  asm volatile("" : "+r"(stranger));
  pool.put(mine, stranger);
  CHECK(pool.misused_total() == 3);
  CHECK(mine.size() == 16);
  CHECK(pool.in_use() == 0);
}

TEST_CASE("pool.slot_pool: slots put elsewhere come back through the shared list") {
  plain_pool pool;
  REQUIRE(pool.reserve(64) == fs::errc::ok);
  plain_pool::magazine getter;
  plain_pool::magazine putter;
  for (int round = 0; round < 1000; ++round) {
    std::array<plain*, 20> held{};
    for (auto*& object : held) {
      object = pool.get(getter);
      REQUIRE(object != nullptr);
    }
    for (auto* object : held) pool.put(putter, object);
    CHECK(putter.size() <= plain_pool::magazine_slots);
  }
  CHECK(pool.in_use() == 0);
  CHECK(pool.carved() == 64);
  CHECK(pool.refused_total() == 0);
}

TEST_CASE("pool.slot_pool: visits exactly the taken slots, and bad capacities are refused") {
  plain_pool pool;
  CHECK(pool.reserve(0) == fs::errc::invalid_argument);
  CHECK(pool.reserve(0xffffffffU) == fs::errc::invalid_argument);
  plain_pool::magazine mine;
  CHECK(pool.get(mine) == nullptr);  // nothing reserved: full from the start
  REQUIRE(pool.reserve(100) == fs::errc::ok);
  CHECK(pool.capacity() == 112);
  pool.prefault(1000);
  std::vector<plain*> held;
  for (int i = 0; i < 40; ++i) held.push_back(pool.get(mine));
  for (std::size_t i = 0; i < held.size(); i += 2) pool.put(mine, held[i]);
  std::set<plain*> visited;
  pool.for_each_taken([&](plain& object) { visited.insert(&object); });
  CHECK(visited.size() == 20);
  for (std::size_t i = 1; i < held.size(); i += 2) CHECK(visited.count(held[i]) == 1);
}

TEST_CASE_TEMPLATE("pool.slot_pool: grows by whole batches, as far as needed, up to its cap", Pool,
                   plain_pool, lending_pool) {
  Pool pool;
  REQUIRE(pool.reserve(100) == fs::errc::ok);
  typename Pool::magazine mine;
  std::vector<typename Pool::value_type*> held;
  CHECK(pool.carved() == 0);
  for (std::uint32_t n = 1; n <= 112; ++n) {
    held.push_back(pool.get(mine));
    REQUIRE(held.back() != nullptr);
    CHECK(pool.carved() == (n + 15) / 16 * 16);
    CHECK(pool.in_use() == n);
  }
  for (std::uint64_t n = 1; n <= 5; ++n) {
    CHECK(pool.get(mine) == nullptr);
    CHECK(pool.refused_total() == n);
  }
  for (auto* object : held) pool.put(mine, object);
  for (int i = 0; i < 1000; ++i) pool.put(mine, pool.get(mine));
  CHECK(pool.carved() == 112);
  CHECK(pool.refused_total() == 5);
  CHECK(pool.misused_total() == 0);
}

TEST_CASE("pool.slot_pool: memory appears with use, not with the cap") {
  plain_pool pool;
  constexpr std::uint32_t cap = 4U << 20;
  REQUIRE(pool.reserve(cap) == fs::errc::ok);
  plain_pool::magazine mine;
  plain* first = pool.get(mine);
  REQUIRE(pool.index_of(first) == 0);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = std::size_t{cap} * 16;
  std::vector<unsigned char> present(bytes / page);
  REQUIRE(mincore(first, bytes, present.data()) == 0);
  std::size_t pages = 0;
  for (const unsigned char each : present) pages += each & 1U;
  CHECK(pages >= 1);
  CHECK(pages * page <= std::size_t{2} << 20);  // a huge page at most
}

TEST_CASE("pool.slot_pool: what lies in magazines is missing elsewhere until they are drained") {
  plain_pool pool;
  REQUIRE(pool.reserve(64) == fs::errc::ok);
  plain_pool::magazine hoards[4];
  plain* held[4];
  for (int i = 0; i < 4; ++i) held[i] = pool.get(hoards[i]);
  plain_pool::magazine late;
  CHECK(pool.get(late) == nullptr);
  CHECK(pool.refused_total() == 1);
  CHECK(pool.in_use() == 4);
  pool.drain(hoards[2]);
  std::size_t got = 0;
  while (pool.get(late) != nullptr) ++got;
  CHECK(got == 15);
  pool.put(late, held[2]);  // of a magazine that is gone
  CHECK(pool.get(late) == held[2]);
  CHECK(pool.refused_total() == 2);
}

TEST_CASE("pool.slot_pool: a retired thread's slots are there for the next one") {
  struct shared {
    plain_pool pool;
    plain_pool::magazine mine;
    plain* left = nullptr;
    std::uint64_t refused = 0;
  };
  for (const bool drains : {false, true}) {
    shared all;
    REQUIRE(all.pool.reserve(48) == fs::errc::ok);
    const auto run = [&all](void* (*body)(void*)) {
      pthread_t thread;
      REQUIRE(pthread_create(&thread, nullptr, body, &all) == 0);
      pthread_join(thread, nullptr);
    };
    for (int generation = 0; generation < 50; ++generation) {
      run([](void* argument) -> void* {
        auto& here = *static_cast<shared*>(argument);
        plain* taken[40] = {};
        for (auto*& each : taken) {
          each = here.pool.get(here.mine);
          here.refused += each == nullptr ? 1U : 0U;
        }
        // The slot that the thread before left taken is given back by this one.
        if (here.left != nullptr) here.pool.put(here.mine, here.left);
        here.left = taken[0];
        for (std::size_t i = 1; i < 40; ++i) here.pool.put(here.mine, taken[i]);
        return nullptr;
      });
      if (drains) {
        all.pool.drain(all.mine);
        all.mine = plain_pool::magazine();
      }
    }
    CHECK(all.refused == 0);
    CHECK(all.pool.in_use() == 1);
    CHECK(all.pool.carved() == 48);
    all.pool.put(all.mine, all.left);
    all.pool.drain(all.mine);
    std::size_t available = 0;
    while (all.pool.get(all.mine) != nullptr) ++available;
    CHECK(available == 48);
    CHECK(all.pool.misused_total() == 0);
  }
}
