// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/core/units.hpp>

using namespace fabscope;

static_assert(3 * GB == bytes{3'000'000'000});
static_assert(GiB.value == 1'073'741'824);
static_assert(rate(GB, 1'000'000'000).gigabytes_per_second() == 1.0);

TEST_CASE("core.units: amounts add and multiply, and do not go below zero") {
  bytes sum = kB + 2 * kB;
  sum += MB;
  CHECK(sum == bytes{1'003'000});
  CHECK(MB - kB == bytes{999'000});
  CHECK(kB - MB == bytes{0});
  CHECK(KiB > kB);
}

TEST_CASE("core.units: a rate is amount over time, and 0 over no time") {
  CHECK(rate(25 * GB, 2'000'000'000).gigabytes_per_second() == doctest::Approx(12.5));
  CHECK(rate(25 * GB, 2'000'000'000).gigabits_per_second() == doctest::Approx(100.0));
  CHECK(rate(GB, 0).value == 0.0);
  CHECK(rate(2 * GB, 1000) / rate(GB, 1000) == doctest::Approx(2.0));
}
