// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/core/relaxed.hpp>
#include <limits>

TEST_CASE("core.relaxed: add, max and inverted minimum on plain words") {
  std::uint64_t word = 5;
  fabscope::relaxed_add(word, 7);
  CHECK(fabscope::relaxed_load(word) == 12);
  fabscope::relaxed_max(word, 3);
  CHECK(word == 12);
  fabscope::relaxed_max(word, 30);
  CHECK(word == 30);
  std::uint64_t inverted = 0;
  fabscope::relaxed_min_inverted(inverted, 9);
  fabscope::relaxed_min_inverted(inverted, 11);
  CHECK(~inverted == 9);
  fabscope::relaxed_min_inverted(inverted, 2);
  CHECK(~inverted == 2);
  std::uint32_t small = std::numeric_limits<std::uint32_t>::max();
  fabscope::relaxed_add(small, 2);
  CHECK(small == 1);
  fabscope::release_store(small, 8);
  CHECK(fabscope::acquire_load(small) == 8);
}
