// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/sampler.hpp>

#include <unistd.h>

#include <memory>
#include <vector>

#include <doctest/doctest.h>

using namespace fabscope;

namespace {

/// Waits in read() until the test lets it go.
struct stuck_source {
  int gate;
  std::vector<nic::counter_column> all = std::vector<nic::counter_column>(1);
  explicit stuck_source(int from) : gate(from) {}
  [[nodiscard]] std::span<const nic::counter_column> columns() const noexcept { return all; }
  bool open() noexcept { return true; }
  bool read(std::uint64_t* values, sample_state* states) noexcept {
    char one;
    *values = ::read(gate, &one, 1) == 1 ? 5 : 6;
    *states = sample_state::good;
    return true;
  }
  void close() noexcept {}
};

struct counting_source {
  std::uint64_t next = 0;
  std::vector<nic::counter_column> all = std::vector<nic::counter_column>(1);
  [[nodiscard]] std::span<const nic::counter_column> columns() const noexcept { return all; }
  bool open() noexcept { return true; }
  bool read(std::uint64_t* values, sample_state* states) noexcept {
    *values = next++;
    *states = sample_state::good;
    return true;
  }
  void close() noexcept {}
};

struct running {
  std::vector<nic_block_row> blocks = std::vector<nic_block_row>(16);
  nic_sampler_row row;
  std::unique_ptr<nic::sampler> sampler;

  template <class Source>
  explicit running(Source source, nic::source_rhythm rhythm, std::uint64_t period_ns) {
    nic::sweep what;
    what.add_source(counting_source{});
    what.add_source(std::move(source), rhythm);
    sampler = std::make_unique<nic::sampler>(std::move(what), std::vector<nic::node_lock>(),
                                             nic::lock_holder{}, period_ns, clock_kind::monotonic);
    REQUIRE(sampler->start(blocks.data(), blocks.size(), &row));
  }
  void wait_for(std::uint64_t samples) const {
    for (int i = 0; i < 20000 && acquire_load(row.samples) < samples; ++i) ::usleep(500);
    REQUIRE(acquire_load(row.samples) >= samples);
  }
};

}  // namespace

TEST_CASE("nic.sampler: a read that hangs delays nobody: not the other source, not the end") {
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  running one(stuck_source{gate[0]}, {0, true}, 1'000'000);
  one.wait_for(20);  // the other thread hangs meanwhile
  const std::uint64_t begin = monotonic_ns();
  CHECK_FALSE(one.sampler->stop(50'000'000));
  CHECK(monotonic_ns() - begin < 5'000'000'000);
  REQUIRE(::write(gate[1], "x", 1) == 1);
  CHECK(one.sampler->stop(10'000'000'000));
  std::uint64_t seen = 0;
  CHECK(decode_samples(one.blocks, one.blocks.size(), 2, [&](const nic_sample& sample) {
    CHECK(sample.values[0] == sample.number);
    CHECK(sample.states[1] == sample_state::absent);
    ++seen;
  }));
  CHECK(seen == one.row.samples);
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST_CASE("nic.sampler: what the slow thread has read stands in one sample and is absent after") {
  running one(counting_source{}, {0, true}, 1'000'000);
  one.wait_for(60);
  CHECK(one.sampler->stop(10'000'000'000));
  std::uint64_t good = 0;
  std::uint64_t absent = 0;
  CHECK(decode_samples(one.blocks, one.blocks.size(), 2, [&](const nic_sample& sample) {
    good += sample.states[1] == sample_state::good ? 1U : 0U;
    absent += sample.states[1] == sample_state::absent ? 1U : 0U;
  }));
  CHECK(good >= 1);
  CHECK(absent > good);
}

TEST_CASE("nic.sampler: begin and end of a sample, lateness and intervals are counted") {
  running one(counting_source{}, {}, 2'000'000);
  one.wait_for(10);
  CHECK(one.sampler->stop(10'000'000'000));
  std::uint64_t last = 0;
  CHECK(decode_samples(one.blocks, one.blocks.size(), 2, [&](const nic_sample& sample) {
    CHECK(sample.end >= sample.begin);
    CHECK(sample.begin > last);
    last = sample.end;
  }));
  std::uint64_t late = 0;
  std::uint64_t intervals = 0;
  for (const std::uint32_t count : one.row.late) late += count;
  for (const std::uint32_t count : one.row.interval) intervals += count;
  CHECK(late == one.row.samples);
  CHECK(intervals == one.row.samples - 1);
  CHECK(one.row.period_ns == 2'000'000);
}
