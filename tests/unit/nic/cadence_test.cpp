// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/cadence.hpp>

#include <doctest/doctest.h>

using fabscope::nic::cadence;
using fabscope::nic::tick;

TEST_CASE("nic.cadence: points that are met on time") {
  cadence when(1000, 100);
  CHECK(when.is_due(1000));
  for (std::uint64_t n = 0; n < 50; ++n) {
    CHECK(when.due_ns() == 1000 + 100 * n);
    const tick one = when.take(1000 + 100 * n + n % 7);
    CHECK(one.missed == 0);
    CHECK(one.late_ns == n % 7);
    CHECK_FALSE(when.is_due(1000 + 100 * n + 99));
  }
}

TEST_CASE("nic.cadence: after a stall the newest point is taken, the others are missed, no burst") {
  cadence when(0, 10);
  (void)when.take(0);
  const tick late = when.take(537);  // due since 10
  CHECK(late.missed == 52);
  CHECK(late.late_ns == 7);
  CHECK(when.due_ns() == 540);
  CHECK_FALSE(when.is_due(539));
}

TEST_CASE("nic.cadence: samples and missed points are all points, and the grid never drifts") {
  cadence when(5, 13);
  std::uint64_t now = 5;
  std::uint64_t points = 0;
  std::uint64_t seed = 1;
  for (int i = 0; i < 10000; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    now = when.due_ns() + (seed >> 40) % 60;
    const tick one = when.take(now);
    points += 1 + one.missed;
    CHECK((now - one.late_ns - 5) % 13 == 0);
    CHECK(one.late_ns < 13);
  }
  CHECK(when.due_ns() == 5 + 13 * points);
}
