// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/stats/counter_rate.hpp>

namespace fs = fabscope;
using fs::counter_change;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

struct xorshift {
  std::uint64_t state = 88172645463325252U;
  constexpr std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
};

constexpr std::uint64_t mask_of(unsigned bits) { return ~std::uint64_t{0} >> (64 - bits); }

constexpr fs::counter_format counter_of(std::uint8_t bits, std::uint64_t most_per_second = 0) {
  fs::counter_format format;
  format.bits = bits;
  format.most_per_second = most_per_second;
  return format;
}

constexpr double doubled() {
  fs::counter_rate series;
  (void)series.add(0, 10);
  (void)series.add(second / 2, 110);
  return series.per_second();
}
static_assert(doubled() == 200.0);

}  // namespace

TEST_CASE("stats.counter_rate: differences, rates and their mean") {
  fs::counter_rate series;
  CHECK(series.per_second() == 0.0);
  const auto first = series.add(100, 7);
  CHECK(first.change == counter_change::first);
  CHECK(first.difference == 0);
  CHECK(first.per_second() == 0.0);
  const auto step = series.add(100 + second, 1007);
  CHECK(step.change == counter_change::grown);
  CHECK(step.difference == 1000);
  CHECK(step.duration_ns == second);
  CHECK(step.per_second() == 1000.0);
  CHECK(series.add(100 + 2 * second, 1007).per_second() == 0.0);
  CHECK(series.per_second() == 500.0);
  CHECK(series.total() == 1000);
  CHECK(series.is_exact());
  CHECK(series.samples_total() == 3);
}

TEST_CASE("stats.counter_rate: a counter of any width wraps without losing a count") {
  for (unsigned bits = 2; bits <= 64; ++bits) {
    CAPTURE(bits);
    const std::uint64_t mask = mask_of(bits);
    // Less than half the range per sample is told from a reset even without a known rate.
    fs::counter_rate plain(counter_of(static_cast<std::uint8_t>(bits)));
    // With a known rate also nearly all of it.
    const std::uint64_t most = mask - mask / 8;
    fs::counter_rate bounded(counter_of(static_cast<std::uint8_t>(bits), most));
    xorshift random;
    std::uint64_t plain_value = mask - mask / 3;
    std::uint64_t bounded_value = plain_value;
    std::uint64_t plain_sum = 0;
    std::uint64_t bounded_sum = 0;
    std::uint64_t wraps = 0;
    std::uint64_t time = 5;
    const int samples = bits == 64 ? 2 : 300;
    for (int i = 0; i < samples; ++i) {
      (void)plain.add(time, plain_value);
      (void)bounded.add(time, bounded_value);
      if (i + 1 == samples) break;
      // 64-bit sums stay exact only while they fit; the widths above do not come near.
      const std::uint64_t small = random() % (mask / 2 + 1) >> (bits > 55 ? bits - 55 : 0);
      const std::uint64_t large = random() % (most + 1) >> (bits > 55 ? bits - 55 : 0);
      plain_sum += small;
      bounded_sum += large;
      wraps += ((bounded_value + large) & mask) < bounded_value ? 1U : 0U;
      plain_value = (plain_value + small) & mask;
      bounded_value = (bounded_value + large) & mask;
      time += second;
    }
    CHECK(plain.total() == plain_sum);
    CHECK(plain.resets_total() == 0);
    CHECK(bounded.total() == bounded_sum);
    CHECK(bounded.resets_total() == 0);
    CHECK(bounded.wraps_total() == wraps);
    CHECK(bounded.is_exact());
  }
}

TEST_CASE("stats.counter_rate: going back is a reset where a wrap is not possible") {
  fs::counter_rate wide(counter_of(64));
  (void)wide.add(0, ~std::uint64_t{0});
  const auto step = wide.add(second, 5);  // 64 bits never wrap
  CHECK(step.change == counter_change::reset);
  CHECK(step.difference == 0);
  CHECK(step.per_second() == 0.0);
  CHECK(wide.total() == 0);
  CHECK(!wide.is_exact());
  CHECK(wide.add(2 * second, 8).difference == 3);  // counts on from there
  CHECK(wide.per_second() == 3.0);                 // the second of the reset is not in the mean

  fs::counter_rate narrow(counter_of(32));
  (void)narrow.add(0, 1000);
  CHECK(narrow.add(second, 3).change == counter_change::reset);
  CHECK(narrow.resets_total() == 1);

  fs::counter_rate octets(counter_of(56, 50'000'000'000));  // 400 Gbit/s
  (void)octets.add(0, mask_of(56) - 1000);
  CHECK(octets.add(second, 49'999'998'999).change == counter_change::wrapped);
  CHECK(octets.total() == 50'000'000'000);
  CHECK(octets.add(2 * second, 7).change == counter_change::reset);
  CHECK(octets.add(3 * second, 7 + 50'000'000'001).change == counter_change::reset);  // too far
  CHECK(octets.resets_total() == 2);
}

TEST_CASE("stats.counter_rate: a value that is refreshed in steps is no reset") {
  auto format = counter_of(56, 1'000'000'000);
  format.refresh_ns = 10'000'000;
  fs::counter_rate series(format);
  (void)series.add(0, 0);
  CHECK(series.add(1'000'000, 10'000'000).change == counter_change::grown);
  CHECK(series.add(2'000'000, 10'000'000).change == counter_change::grown);
  CHECK(series.add(3'000'000, 22'000'000).change == counter_change::reset);
}

TEST_CASE("stats.counter_rate: a gap is bridged, or said to be too long") {
  fs::counter_rate series(counter_of(32, 1'000'000'000));
  (void)series.add(0, 100);
  CHECK(series.add_missing().change == counter_change::missing);
  CHECK(series.add(second / 2, std::uint64_t{1} << 32).change == counter_change::missing);
  const auto step = series.add(second, 1100);
  CHECK(step.gap == 2);
  CHECK(step.difference == 1000);
  CHECK(step.per_second() == 1000.0);
  CHECK(series.missing_total() == 2);
  CHECK(series.is_exact());
  const auto late = series.add(6 * second, 1200);  // five seconds are enough to go round
  CHECK(late.change == counter_change::ambiguous);
  CHECK(late.difference == 100);
  CHECK(late.gap == 0);
  CHECK(!late.is_exact());
  CHECK(!series.is_exact());
  CHECK(series.total() == 1100);
  CHECK(series.per_second() == 1000.0);
}

TEST_CASE("stats.counter_rate: all ones of a device that does not answer are no value") {
  auto format = counter_of(12);
  format.kind = fs::metric_kind::gauge;
  format.ones_are_error = true;
  fs::counter_rate gauge(format);
  CHECK(gauge.add(0, 4095).change == counter_change::missing);
  CHECK(gauge.add(1, 4094).change == counter_change::level);
  CHECK(gauge.max() == 4094);
  CHECK(gauge.missing_total() == 1);
}

TEST_CASE("stats.counter_rate: a saturated counter says so until somebody clears it") {
  fs::counter_format format = counter_of(8);
  format.saturates = true;
  fs::counter_rate errors(format);
  (void)errors.add(0, 250);
  CHECK(errors.add(second, 255).change == counter_change::saturated);
  const auto stuck = errors.add(2 * second, 255);
  CHECK(stuck.change == counter_change::saturated);
  CHECK(stuck.difference == 0);
  CHECK(errors.total() == 5);
  CHECK(errors.saturated_total() == 2);
  CHECK(!errors.is_exact());
  CHECK(errors.add(3 * second, 2).change == counter_change::reset);
  CHECK(errors.add(4 * second, 4).difference == 2);
  CHECK(errors.total() == 7);
  fs::counter_rate born_full(format);
  (void)born_full.add(0, 255);
  CHECK(!born_full.is_exact());
}

TEST_CASE("stats.counter_rate: gauges and watermarks are levels") {
  fs::counter_format format;
  format.kind = fs::metric_kind::gauge;
  fs::counter_rate gauge(format);
  CHECK(gauge.add(0, 10).change == counter_change::level);
  CHECK(gauge.mean_level() == 10.0);
  (void)gauge.add(second, 4);
  (void)gauge.add(3 * second, 8);
  CHECK(gauge.min() == 4);
  CHECK(gauge.max() == 10);
  CHECK(gauge.value() == 8);
  CHECK(gauge.mean_level() == 6.0);  // 10 for one second, 4 for two
  CHECK(gauge.resets_total() == 0);
  CHECK(gauge.total() == 0);

  format.kind = fs::metric_kind::watermark;
  fs::counter_rate mark(format);
  (void)mark.add(0, 3);
  CHECK(mark.add(1, 9).change == counter_change::level);
  CHECK(mark.add(2, 1).change == counter_change::reset);
  CHECK(mark.max() == 9);
  CHECK(mark.resets_total() == 1);
}

TEST_CASE("stats.counter_rate: time that stands still or goes back makes no rate") {
  fs::counter_rate series;
  (void)series.add(second, 0);
  const auto same = series.add(second, 50);
  CHECK(same.difference == 50);
  CHECK(same.duration_ns == 0);
  CHECK(same.per_second() == 0.0);
  CHECK(series.add(second / 2, 60).duration_ns == 0);
  CHECK(series.add(2 * second, 70).per_second() == 10.0);
  CHECK(series.total() == 70);
  CHECK(series.per_second() == 10.0);
}
