// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <fabscope/ring/spsc_ring.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace fs = fabscope;
using ring = fs::spsc_ring<std::uint64_t>;

TEST_CASE("ring.spsc_ring: first in, first out, over many wraps") {
  auto made = ring::create(5);
  REQUIRE(made.has_value());
  ring& r = made.value();
  CHECK(r.capacity() == 8);
  std::uint64_t pushed = 0;
  std::uint64_t popped = 0;
  std::array<std::uint64_t, 3> out;
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 5 && r.try_push(pushed); ++i) ++pushed;
    const std::size_t n = r.pop_batch(out);
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
  CHECK(r.pushed_total() + r.dropped_total() >= 5000 - 2000);
}

TEST_CASE("ring.spsc_ring: a full ring keeps the old records and counts the new") {
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

TEST_CASE("ring.spsc_ring: lives in given memory, seen from a second view") {
  struct alignas(ring::alignment) block {
    unsigned char byte[ring::bytes_needed(16)];
  };
  const auto memory = std::make_unique<block>();
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

TEST_CASE("ring.spsc_ring: impossible capacities are refused") {
  CHECK(ring::create(0).error() == fs::errc::invalid_argument);
  CHECK(ring::create(~std::size_t{0}).error() == fs::errc::invalid_argument);
  CHECK(!ring());
}
