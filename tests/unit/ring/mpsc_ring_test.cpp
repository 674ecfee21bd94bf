// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <fabscope/ring/mpsc_ring.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace fs = fabscope;
using ring = fs::mpsc_ring<std::uint64_t>;

TEST_CASE("ring.mpsc_ring: first in, first out, over many wraps, of every capacity") {
  for (const std::size_t capacity : {1U, 2U, 5U, 64U}) {
    auto made = ring::create(capacity);
    REQUIRE(made.has_value());
    ring& r = made.value();
    CHECK(r.capacity() == std::bit_ceil(capacity));
    std::uint64_t pushed = 0;
    std::uint64_t popped = 0;
    std::array<std::uint64_t, 3> out;
    for (int round = 0; round < 1000; ++round) {
      for (int i = 0; i < 5 && r.try_push(pushed); ++i) ++pushed;
      const std::size_t n = r.pop_batch(out);
      CHECK(n > 0);
      for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == popped++);
      CHECK(r.approx_size() == pushed - popped);
    }
    while (const std::size_t n = r.pop_batch(out)) {
      for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == popped++);
    }
    CHECK(pushed == popped);
    CHECK(r.was_empty());
    CHECK(r.pushed_total() == pushed);
    CHECK(r.popped_total() == popped);
  }
}

TEST_CASE("ring.mpsc_ring: a full ring keeps the old records and counts the new") {
  auto made = ring::create(4);
  REQUIRE(made.has_value());
  ring& r = made.value();
  for (std::uint64_t n = 0; n < 4; ++n) CHECK(r.try_push(n));
  for (std::uint64_t n = 4; n < 10; ++n) CHECK(!r.try_push(n));
  CHECK(r.dropped_total() == 6);
  std::vector<std::uint64_t> seen;
  CHECK(r.consume([&](std::span<const std::uint64_t> part) {
    seen.insert(seen.end(), part.begin(), part.end());
  }) == 4);
  CHECK(seen == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(r.consume([](std::span<const std::uint64_t>) { CHECK(false); }) == 0);
  CHECK(r.try_push(11));
  std::array<std::uint64_t, 1> one;
  CHECK(r.pop_batch(std::span<std::uint64_t>{}) == 0);
  CHECK(r.pop_batch(one) == 1);
  CHECK(one[0] == 11);
}

TEST_CASE("ring.mpsc_ring: a record that is not published holds back those behind it") {
  auto made = ring::create(4);
  REQUIRE(made.has_value());
  ring& r = made.value();
  CHECK(r.try_push(1));
  const ring::claim slow = r.try_claim();
  REQUIRE(slow);
  CHECK(r.try_push(3));
  CHECK(r.try_push(4));
  CHECK(!r.try_push(5));
  CHECK(!r.try_claim());
  std::array<std::uint64_t, 8> out;
  CHECK(r.pop_batch(out) == 1);
  CHECK(r.pop_batch(out) == 0);
  CHECK(r.approx_size() == 3);
  CHECK(r.try_push(6));  // the slot of record 1
  CHECK(!r.try_push(7));
  *slow.record = 2;
  r.publish(slow);
  REQUIRE(r.pop_batch(out) == 4);
  CHECK(out[0] == 2);
  CHECK(out[1] == 3);
  CHECK(out[3] == 6);
  CHECK(r.dropped_total() == 3);
  CHECK(r.popped_total() == 5);
}

TEST_CASE("ring.mpsc_ring: what a dead producer left unfinished is given up and counted") {
  auto made = ring::create(4);
  REQUIRE(made.has_value());
  ring& r = made.value();
  CHECK(!r.abandon_oldest());  // nothing there
  CHECK(r.try_push(1));
  CHECK(!r.abandon_oldest());  // published
  std::array<std::uint64_t, 8> out;
  CHECK(r.pop_batch(out) == 1);
  std::uint64_t tried = 1;
  std::uint64_t got = 1;
  for (int round = 0; round < 100; ++round) {
    (void)r.try_claim();  // and dies
    for (std::uint64_t n = 0; n < 5; ++n) (void)r.try_push(n);
    tried += 6;
    CHECK(r.pop_batch(out) == 0);
    CHECK(r.abandon_oldest());
    const std::size_t n = r.pop_batch(out);
    CHECK(n == 3);
    CHECK(out[2] == 2);
    got += n;
    CHECK(!r.abandon_oldest());
  }
  CHECK(r.abandoned_total() == 100);
  CHECK(r.popped_total() == got);
  CHECK(r.was_empty());
  CHECK(r.popped_total() + r.abandoned_total() + r.dropped_total() == tried);
}

TEST_CASE("ring.mpsc_ring: lives in given memory, seen from a second view") {
  struct alignas(ring::alignment) block {
    unsigned char byte[ring::bytes_needed(16)];
  };
  const auto memory = std::make_unique<block>();
  memory->byte[5] = 17;  // place() does not rely on what is there
  ring producer = ring::place(memory.get(), 16);
  ring consumer = ring::attach(memory.get(), 16);
  for (std::uint64_t n = 0; n < 20; ++n) (void)producer.try_push(n);
  CHECK(consumer.approx_size() == 16);
  CHECK(consumer.dropped_total() == 4);
  std::array<std::uint64_t, 32> out;
  CHECK(consumer.pop_batch(out) == 16);
  CHECK(out[15] == 15);
  ring moved = std::move(producer);
  CHECK(!producer);
  CHECK(moved.try_push(1));
}

TEST_CASE("ring.mpsc_ring: impossible capacities are refused") {
  CHECK(ring::create(0).error() == fs::errc::invalid_argument);
  CHECK(ring::create(~std::size_t{0}).error() == fs::errc::invalid_argument);
  CHECK(!ring());
}
