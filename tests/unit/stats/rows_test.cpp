// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <fabscope/stats/rows.hpp>

namespace {

using fabscope::scope_row;
constexpr std::uint64_t limit = scope_row::scale::limit;

/// Adds the spans to a row and compares it with sums made in the plain way.
void check(const std::vector<std::uint64_t>& spans) {
  const auto row = std::make_unique<scope_row>();
  std::vector<std::uint32_t> buckets(scope_row::scale::buckets);
  std::uint64_t sum = 0;
  std::uint64_t bytes = 0;
  std::uint64_t min = ~std::uint64_t{0};
  std::uint64_t max = 0;
  for (const std::uint64_t span : spans) {
    row->add(span, bytes);
    sum += span;
    min = std::min(min, span);
    max = std::max(max, span);
    ++buckets[scope_row::scale::bucket_of(span)];
    CHECK(~row->inverted_min == min);
    CHECK(row->max == max);
  }
  for (std::size_t i = 0; i < spans.size(); ++i) row->add(spans[i], i);
  for (std::size_t i = 0; i < spans.size(); ++i) bytes += i;
  CHECK(row->count == 2 * spans.size());
  CHECK(row->bytes == bytes);
  CHECK(row->sum == 2 * sum);
  for (std::size_t i = 0; i < buckets.size(); ++i) CHECK(row->histogram[i] == 2 * buckets[i]);
}

}  // namespace

TEST_CASE("stats.rows: a scope row is exact for spans in any order") {
  check({0});
  check({0, 0, 1, 0});
  check({5, 5, 4, 6, 4, 6, 5});
  check({7, 6, 5, 4, 3, 2, 1, 0});
  check({1, 1000, 2, 999, 1 << 20, 3});
  std::vector<std::uint64_t> mixed;
  std::uint64_t x = 88172645463325252U;
  for (int i = 0; i < 2000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    mixed.push_back(x >> (x & 63));
  }
  check(mixed);
}

TEST_CASE("stats.rows: spans at and above the histogram's limit stay in its last bucket") {
  check({limit, limit, limit + 1, limit});
  check({limit - 1, limit - 1, limit, limit - 1});
  check({limit + 5, 3, limit + 5, limit - 1, limit, 3});
  check({~std::uint64_t{0} >> 1, 0, limit});
  check({~std::uint64_t{0}, ~std::uint64_t{0}, 1});
}
