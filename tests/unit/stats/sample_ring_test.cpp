// SPDX-License-Identifier: Apache-2.0
#include <fabscope/stats/sample_ring.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace fabscope;

namespace {

struct kept {
  std::uint64_t number;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t missed;
  std::vector<std::uint64_t> values;
  std::vector<sample_state> states;
};

std::vector<kept> decode(const std::vector<nic_block_row>& blocks, std::size_t columns) {
  std::vector<kept> out;
  CHECK(decode_samples(blocks, blocks.size(), columns, [&](const nic_sample& one) {
    out.push_back({one.number,
                   one.begin,
                   one.end,
                   one.missed,
                   {one.values.begin(), one.values.end()},
                   {one.states.begin(), one.states.end()}});
  }));
  return out;
}

std::uint64_t mixed(std::uint64_t& seed) {
  seed = seed * 6364136223846793005U + 1442695040888963407U;
  return seed >> 33 ^ seed;
}

}  // namespace

TEST_CASE("stats.sample_ring: every value and state comes back") {
  for (const std::size_t columns : {std::size_t{1}, std::size_t{7}, std::size_t{97}}) {
    std::vector<nic_block_row> blocks(400);
    sample_writer writer;
    REQUIRE(writer.start(blocks.data(), blocks.size(), columns));
    std::uint64_t seed = columns;
    std::vector<std::uint64_t> values(columns, 5);
    std::vector<sample_state> states(columns, sample_state::good);
    std::vector<kept> expected;
    for (std::uint64_t n = 0; n < 500; ++n) {
      for (std::size_t i = 0; i < columns; ++i) {
        const std::uint64_t what = mixed(seed) % 8;
        if (what == 0) values[i] = mixed(seed);  // anything, also backwards
        if (what == 1) values[i] += 3;
        if (what == 2) states[i] = static_cast<sample_state>(mixed(seed) % 4);
        if (what == 3) states[i] = sample_state::good;
      }
      writer.add(1000 + 10 * n, 1003 + 10 * n + n % 3, n % 5, values.data(), states.data());
      expected.push_back({n, 1000 + 10 * n, 1003 + 10 * n + n % 3, n % 5, values, states});
    }
    const auto got = decode(blocks, columns);
    REQUIRE(got.size() == expected.size());
    for (std::size_t n = 0; n < got.size(); ++n) {
      CHECK(got[n].number == n);
      CHECK(got[n].begin == expected[n].begin);
      CHECK(got[n].end == expected[n].end);
      CHECK(got[n].missed == expected[n].missed);
      REQUIRE(got[n].states == expected[n].states);
      for (std::size_t i = 0; i < columns; ++i) {
        if (got[n].states[i] != sample_state::good) continue;
        REQUIRE(got[n].values[i] == expected[n].values[i]);
      }
    }
  }
}

TEST_CASE("stats.sample_ring: a sample longer than a block goes over several") {
  constexpr std::size_t columns = 2000;
  std::vector<nic_block_row> blocks(64);
  sample_writer writer;
  REQUIRE(writer.start(blocks.data(), blocks.size(), columns));
  std::vector<std::uint64_t> values(columns);
  const std::vector<sample_state> states(columns, sample_state::good);
  for (std::uint64_t n = 0; n < 3; ++n) {
    for (std::size_t i = 0; i < columns; ++i) values[i] = (~std::uint64_t{0} >> 1) - i * (n + 1);
    writer.add(n, n, 0, values.data(), states.data());
  }
  const auto got = decode(blocks, columns);
  REQUIRE(got.size() == 3);
  CHECK(got[2].values == values);
}

TEST_CASE("stats.sample_ring: the ring keeps the newest, with their numbers") {
  constexpr std::size_t columns = 100;
  std::vector<nic_block_row> blocks(4);
  sample_writer writer;
  REQUIRE(writer.start(blocks.data(), blocks.size(), columns));
  std::vector<std::uint64_t> values(columns);
  const std::vector<sample_state> states(columns, sample_state::good);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    for (std::size_t i = 0; i < columns; ++i) values[i] = n * i;
    writer.add(n, n + 1, 0, values.data(), states.data());
  }
  const auto got = decode(blocks, columns);
  REQUIRE(got.size() > 20);
  CHECK(got.size() < 1000);
  CHECK(got.back().number == 999);
  for (std::size_t n = 0; n < got.size(); ++n) {
    CHECK(got[n].number == got.front().number + n);
    CHECK(got[n].values[99] == got[n].number * 99);
  }
}

TEST_CASE("stats.sample_ring: torn and foreign blocks are left out") {
  std::vector<nic_block_row> blocks(8);
  sample_writer writer;
  REQUIRE(writer.start(blocks.data(), blocks.size(), 500));
  std::vector<std::uint64_t> values(500, ~std::uint64_t{0} >> 2);
  const std::vector<sample_state> states(500, sample_state::good);
  for (std::uint64_t n = 0; n < 2; ++n) {
    for (auto& one : values) one ^= ~std::uint64_t{0};
    writer.add(n, n, 0, values.data(), states.data());
  }
  const std::size_t whole = decode(blocks, 500).size();
  CHECK(whole == 2);
  blocks[0].tail = 0;  // the writer was at it
  CHECK(decode(blocks, 500).size() == 1);
  blocks[0].tail = blocks[0].head;
  blocks[0].bytes = 1 << 20;
  CHECK(decode(blocks, 500).size() == 1);
}

TEST_CASE("stats.sample_ring: a decoder goes on in a block that grows") {
  std::vector<nic_block_row> blocks(8);
  sample_writer writer;
  REQUIRE(writer.start(blocks.data(), blocks.size(), 3));
  sample_decoder decoder;
  REQUIRE(decoder.start(3));
  const std::vector<sample_state> states(3, sample_state::good);
  std::uint64_t seen = 0;
  for (std::uint64_t n = 0; n < 50; ++n) {
    const std::uint64_t values[3] = {n, 2 * n, 7};
    writer.add(100 + n, 100 + n, 0, values, states.data());
    nic_block_row copy;
    copy_block(blocks[0], copy);
    decoder.block(copy, 0, [&](const nic_sample& one) {
      CHECK(one.number == seen);
      CHECK(one.values[1] == 2 * one.number);
      ++seen;
    });
    CHECK(seen == n + 1);
  }
}
