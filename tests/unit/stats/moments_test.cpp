// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fabscope/stats/moments.hpp>
#include <fabscope/stats/real_moments.hpp>
#include <limits>
#include <vector>

namespace fs = fabscope;

namespace {

struct xorshift {
  std::uint64_t state = 88172645463325252U;
  std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
};

constexpr fs::moments two_four() {
  fs::moments m;
  m.record(2);
  m.record(4);
  return m;
}
static_assert(two_four().mean() == 3.0 && two_four().variance() == 1.0 &&
              two_four().sample_variance() == 2.0);

// In two passes, which needs all values.
struct reference {
  double mean;
  double variance;
};
template <class Value>
reference two_pass(const std::vector<Value>& values) {
  long double sum = 0;
  for (const Value v : values) sum += static_cast<long double>(v);
  const long double mean = sum / static_cast<long double>(values.size());
  long double squares = 0;
  for (const Value v : values) {
    squares += (static_cast<long double>(v) - mean) * (static_cast<long double>(v) - mean);
  }
  return {static_cast<double>(mean),
          static_cast<double>(squares / static_cast<long double>(values.size()))};
}

}  // namespace

TEST_CASE("stats.moments: the sums of many values, near zero and far from it") {
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{1} << 40, std::uint64_t{1} << 62}) {
    xorshift random;
    fs::moments m;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 5000; ++i) {
      values.push_back(offset + random() % 1000);
      m.record(values.back());
    }
    std::vector<std::uint64_t> shifted = values;
    for (auto& v : shifted) v -= offset;  // what the reference can do exactly
    const reference expected = two_pass(shifted);
    CHECK(m.count() == 5000);
    CHECK(m.mean() == doctest::Approx(expected.mean + static_cast<double>(offset)).epsilon(1e-15));
    CHECK(m.variance() == doctest::Approx(expected.variance).epsilon(1e-14));
    CHECK(m.deviation() == doctest::Approx(std::sqrt(expected.variance)).epsilon(1e-14));
  }
}

TEST_CASE("stats.moments: extremes of 64 bits do not overflow") {
  constexpr std::uint64_t top = ~std::uint64_t{0};
  fs::moments m;
  for (int i = 0; i < 1000; ++i) {
    m.record(top);
    m.record(0);
  }
  CHECK(m.min() == 0);
  CHECK(m.max() == top);
  CHECK(m.mean() == 0x1p63);
  CHECK(m.variance() == 0x1p126);
  fs::moments same;
  for (int i = 0; i < 1000; ++i) same.record(top);
  CHECK(same.variance() == 0.0);
  CHECK(same.sample_variance() == 0.0);
  same.merge(m);
  CHECK(same.count() == 3000);
  CHECK(same.mean() == doctest::Approx(0x1p64 * 2 / 3));
  CHECK(same.variance() == doctest::Approx(0x1p128 * 2 / 9));
}

TEST_CASE("stats.moments: merging in any order gives the same bits") {
  xorshift random;
  fs::moments whole;
  fs::moments parts[4];
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    whole.record(value);
    parts[random() % 4].record(value);
  }
  fs::moments forward;
  for (int i = 0; i < 4; ++i) forward.merge(parts[i]);
  fs::moments backward;
  for (int i = 3; i >= 0; --i) backward.merge(parts[i]);
  fs::moments tree = parts[1];
  fs::moments right = parts[3];
  right.merge(parts[0]);
  tree.merge(parts[2]);
  tree.merge(right);
  CHECK(std::memcmp(&forward, &whole, sizeof whole) == 0);
  CHECK(std::memcmp(&backward, &whole, sizeof whole) == 0);
  CHECK(std::memcmp(&tree, &whole, sizeof whole) == 0);
}

TEST_CASE("stats.moments: nothing and one value") {
  alignas(fs::moments) unsigned char memory[sizeof(fs::moments)] = {};
  auto& m = *reinterpret_cast<fs::moments*>(memory);
  CHECK(m.min() == 0);
  CHECK(m.max() == 0);
  CHECK(m.mean() == 0.0);
  CHECK(m.variance() == 0.0);
  m.record(0);
  CHECK(m.count() == 1);
  CHECK(m.min() == 0);
  CHECK(m.sample_variance() == 0.0);
}

TEST_CASE("stats.real_moments: agree with two passes, near zero and far from it") {
  for (const double offset : {0.0, -5.0, 1e9}) {
    xorshift random;
    fs::real_moments whole;
    fs::real_moments parts[3];
    std::vector<double> values;
    for (int i = 0; i < 3000; ++i) {
      const double value = offset + static_cast<double>(random() % 100000) / 1000.0;
      values.push_back(value);
      whole.record(value);
      parts[i % 3].record(value);
    }
    const reference expected = two_pass(values);
    fs::real_moments merged;
    for (const auto& part : parts) merged.merge(part);
    for (const auto& m : {whole, merged}) {
      CHECK(m.count() == 3000);
      CHECK(m.mean() == doctest::Approx(expected.mean).epsilon(1e-13));
      CHECK(m.variance() == doctest::Approx(expected.variance).epsilon(1e-9));
    }
    CHECK(merged.min() == whole.min());
    CHECK(merged.max() == whole.max());
  }
}

TEST_CASE("stats.real_moments: what is not finite is counted and left out") {
  fs::real_moments m;
  m.record(std::numeric_limits<double>::quiet_NaN());
  CHECK(m.count() == 0);
  CHECK(m.mean() == 0.0);
  fs::real_moments other;
  other.record(3.0);
  other.record(std::numeric_limits<double>::infinity());
  m.merge(other);
  CHECK(m.count() == 1);
  CHECK(m.invalid_total() == 2);
  CHECK(m.min() == 3.0);
  CHECK(m.variance() == 0.0);
  CHECK(m.sample_variance() == 0.0);
  m.merge(fs::real_moments());
  CHECK(m.mean() == 3.0);
}
