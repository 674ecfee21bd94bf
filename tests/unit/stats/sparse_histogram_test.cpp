// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fabscope/stats/sparse_histogram.hpp>
#include <memory>
#include <numeric>
#include <vector>

namespace fs = fabscope;

namespace {

struct xorshift {
  std::uint64_t state;
  std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
};

constexpr double quantiles[] = {0.0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0};

template <class Histogram>
void check_quantiles(const Histogram& h, std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  CHECK(h.count() == values.size());
  CHECK(h.min() == values.front());
  CHECK(h.max() == values.back());
  CHECK(h.sum() == std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
  for (const double q : quantiles) {
    auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    if (rank == 0) rank = 1;
    const std::uint64_t exact = values[rank - 1];
    const auto found = h.quantile(q);
    CHECK(found.low <= exact);
    CHECK(exact <= found.high);
    CHECK(found.low <= found.value);
    CHECK(found.value <= found.high);
    const double off = std::abs(static_cast<double>(found.value) - static_cast<double>(exact));
    CHECK(off <= static_cast<double>(exact) * h.relative_error());
  }
}

template <class Histogram>
std::vector<std::uint64_t> contents(const Histogram& h) {
  std::vector<std::uint64_t> all{h.count(), h.sum(), h.min(), h.max(),
                                 static_cast<std::uint64_t>(h.bits())};
  h.for_each([&all](std::uint64_t low, std::uint64_t high, std::uint64_t times) {
    all.insert(all.end(), {low, high, times});
  });
  return all;
}

}  // namespace

TEST_CASE("stats.sparse_histogram: quantiles within one per cent, and between their bounds") {
  fs::sparse_histogram<256> h;
  xorshift random{1};
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(2000 + random() % 18000);  // 2 to 20 us
    h.record(values.back());
  }
  CHECK(h.bits() == 6);
  CHECK(h.relative_error() < 0.01);
  check_quantiles(h, values);
}

TEST_CASE("stats.sparse_histogram: what does not fit costs resolution, never a value") {
  // From one bucket per value to all 43 powers of two.
  fs::sparse_histogram<64> small;
  fs::sparse_histogram<300> large;
  xorshift random{2};
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(random() >> (22 + random() % 42));
    small.record(values.back());
    large.record(values.back());
  }
  CHECK(small.bits() == 0);
  CHECK(large.bits() < 6);
  CHECK(large.bits() > 1);
  check_quantiles(small, values);
  check_quantiles(large, values);
}

TEST_CASE("stats.sparse_histogram: joined buckets are the buckets of the lower resolution") {
  fs::sparse_histogram<64> h;
  for (std::uint64_t v = 0; v < 512; ++v) h.record(v);
  std::size_t wrong = 0;
  std::uint64_t next = 0;
  h.for_each([&](std::uint64_t low, std::uint64_t high, std::uint64_t times) {
    wrong += low == next && times == high - low + 1 ? 0U : 1U;  // they tile the range
    next = high + 1;
  });
  CHECK(wrong == 0);
  CHECK(next == 512);
  CHECK(h.bits() == 3);
  std::size_t at = 0;
  h.for_each([&](std::uint64_t low, std::uint64_t high, std::uint64_t) {
    wrong += fs::log_linear<3>::low(at) == low && fs::log_linear<3>::high(at) == high ? 0U : 1U;
    ++at;
  });
  CHECK(wrong == 0);
}

TEST_CASE("stats.sparse_histogram: merging in any order gives the same, of any sizes") {
  for (const std::uint64_t range :
       {std::uint64_t{100}, std::uint64_t{5000}, std::uint64_t{1} << 40}) {
    xorshift random{range};
    fs::sparse_histogram<128> whole;
    fs::sparse_histogram<128> parts[4];
    fs::sparse_histogram<4096> roomy;
    for (int i = 0; i < 8000; ++i) {
      const std::uint64_t value = (random() % range) >> (random() % 20);
      whole.record(value);
      roomy.record(value);
      parts[random() % 4].record(value);
    }
    fs::sparse_histogram<128> forward;
    for (int i = 0; i < 4; ++i) forward.merge(parts[i]);
    fs::sparse_histogram<128> backward;
    for (int i = 3; i >= 0; --i) backward.merge(parts[i]);
    CHECK(contents(forward) == contents(whole));
    CHECK(contents(backward) == contents(whole));
    CHECK(roomy.bits() == 6);
    fs::sparse_histogram<128> narrowed;
    narrowed.merge(roomy);
    CHECK(contents(narrowed) == contents(whole));
  }
}

TEST_CASE("stats.sparse_histogram: to a dense one and back loses nothing") {
  fs::sparse_histogram<2368> sparse;
  CHECK(decltype(sparse)::scale::buckets == 2368);  // never loses resolution
  const auto dense = std::make_unique<fs::histogram<6>>();
  xorshift random{3};
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    sparse.record(value);
    dense->record(value);
  }
  const auto made = std::make_unique<fs::histogram<6>>();
  sparse.add_to(*made);
  CHECK(std::memcmp(made.get(), dense.get(), sizeof *dense) == 0);
  fs::sparse_histogram<2368> back;
  back.merge(*dense);
  CHECK(contents(back) == contents(sparse));
  for (const double q : quantiles) CHECK(dense->quantile(q) <= back.quantile(q).high);
  fs::histogram<6, std::uint8_t> narrow;  // counters that end, end at their largest value
  sparse.add_to(narrow);
  CHECK(narrow.count() == sparse.count());
  // A finer dense one is joined on the way in.
  fs::histogram<7> fine;
  for (std::uint64_t v = 1000; v < 2000; ++v) fine.record(v);
  fs::sparse_histogram<128> joined;
  fs::sparse_histogram<128> direct;
  joined.merge(fine);
  for (std::uint64_t v = 1000; v < 2000; ++v) direct.record(v);
  CHECK(contents(joined) == contents(direct));
}

TEST_CASE("stats.sparse_histogram: a lower resolution goes to a dense one by its middles") {
  fs::sparse_histogram<64> h;
  for (std::uint64_t v = 0; v < 4096; ++v) h.record(v);
  REQUIRE(h.bits() < 6);
  fs::histogram<6> dense;
  h.add_to(dense);
  CHECK(dense.count() == 4096);
  CHECK(dense.max() == 4095);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < fs::log_linear<6>::buckets; ++i) sum += dense.count_at_bucket(i);
  CHECK(sum == 4096);
  CHECK(std::abs(static_cast<double>(dense.quantile(0.5)) - 2048.0) <=
        2048.0 * (h.relative_error() + 0.01));
}

TEST_CASE("stats.sparse_histogram: nothing, one value, and values beyond the scale") {
  alignas(fs::sparse_histogram<64>) unsigned char memory[sizeof(fs::sparse_histogram<64>)] = {};
  auto& h = *reinterpret_cast<fs::sparse_histogram<64>*>(memory);
  CHECK(h.quantile(0.5).value == 0);
  CHECK(h.min() == 0);
  h.record(5, 0);
  CHECK(h.count() == 0);
  h.record(1'000'000, 3);
  CHECK(h.quantile(0.5).value == 1'000'000);
  CHECK(h.quantile(0.5).low == 1'000'000);
  CHECK(h.quantile(0.5).high == 1'000'000);
  CHECK(h.sum() == 3'000'000);
  h.record(std::uint64_t{1} << 60);
  CHECK(h.quantile(1.0).high == std::uint64_t{1} << 60);
  CHECK(h.max() == std::uint64_t{1} << 60);
}
