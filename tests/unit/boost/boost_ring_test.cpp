// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <fabscope/boost/mpmc_ring.hpp>
#include <fabscope/boost/spsc_ring.hpp>
#include <memory>
#include <span>
#include <vector>

namespace fs = fabscope;

static_assert(fs::event_ring<fs::boost_spsc_ring<int, 8>>);
static_assert(fs::event_ring<fs::boost_mpmc_ring<int, 8>>);

TEST_CASE_TEMPLATE("boost.rings: keep the old records, drop and count the new, in order", Ring,
                   fs::boost_spsc_ring<std::uint64_t, 1>, fs::boost_spsc_ring<std::uint64_t, 100>,
                   fs::boost_mpmc_ring<std::uint64_t, 1>, fs::boost_mpmc_ring<std::uint64_t, 100>) {
  const auto ring = std::make_unique<Ring>();
  const std::uint64_t capacity = ring->capacity();
  std::vector<std::uint64_t> out(3);
  std::uint64_t dropped = 0;
  std::uint64_t next = 0;
  std::uint64_t expected = 0;
  for (int round = 0; round < 100; ++round) {
    std::uint64_t stored = 0;
    while (ring->try_push(next + stored)) ++stored;
    ++dropped;
    CHECK(stored == capacity);
    CHECK(ring->dropped_total() == dropped);
    CHECK(ring->pop_batch(std::span<std::uint64_t>{}) == 0);
    while (const std::size_t n = ring->pop_batch(out)) {
      for (std::size_t i = 0; i < n; ++i) CHECK(out[i] == expected++);
    }
    next += stored;
    CHECK(expected == next);
  }
}

TEST_CASE_TEMPLATE("boost.rings: consume shows everything once", Ring,
                   fs::boost_spsc_ring<std::uint64_t, 8>, fs::boost_mpmc_ring<std::uint64_t, 8>) {
  Ring ring;
  for (std::uint64_t n = 0; n < 10; ++n) (void)ring.try_push(n);
  std::vector<std::uint64_t> seen;
  CHECK(ring.consume([&](std::span<const std::uint64_t> part) {
    seen.insert(seen.end(), part.begin(), part.end());
  }) == 8);
  CHECK(seen == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(ring.consume([](std::span<const std::uint64_t>) {}) == 0);
  CHECK(ring.dropped_total() == 2);
}
