// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <fabscope/clock/steady_clock.hpp>

TEST_CASE("clock.steady_clock: is the clock of std::chrono::steady_clock") {
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  const std::uint64_t ns = fabscope::steady_clock::now();
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  CHECK(ns >= static_cast<std::uint64_t>(std::chrono::nanoseconds(before).count()));
  CHECK(ns <= static_cast<std::uint64_t>(std::chrono::nanoseconds(after).count()));
}

TEST_CASE("clock.steady_clock: wall time is that of std::chrono::system_clock") {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = static_cast<std::int64_t>(fabscope::realtime_ns());
  const std::int64_t off = ns - std::chrono::nanoseconds(wall).count();
  CHECK(off < 1'000'000'000);
  CHECK(off > -1'000'000'000);
}

TEST_CASE("clock.steady_clock: boot time does not run behind") {
  const std::uint64_t mono = fabscope::monotonic_ns();
  CHECK(fabscope::boottime_ns() >= mono);
}
