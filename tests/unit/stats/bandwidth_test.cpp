// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fabscope/stats/bandwidth.hpp>

namespace fs = fabscope;
using fs::collective;

namespace {

constexpr std::uint32_t most_ranks = 0xffffffffU;
constexpr std::uint64_t most = ~std::uint64_t{0};

constexpr collective all[] = {
    collective::all_reduce,     collective::all_gather,   collective::all_gather_v,
    collective::reduce_scatter, collective::broadcast,    collective::reduce,
    collective::all_to_all,     collective::all_to_all_v, collective::gather,
    collective::scatter,        collective::send,         collective::recv,
    collective::send_recv,      collective::hypercube};
static_assert(sizeof all / sizeof all[0] + 1 == static_cast<unsigned>(collective::count_));

// The summary of the document, and for what it leaves out the tests' own functions.
static_assert(fs::bus_factor(collective::all_reduce, 2) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::all_reduce, 4) == fs::fraction{3, 2});
static_assert(fs::bus_factor(collective::all_reduce, 8) == fs::fraction{7, 4});
static_assert(fs::bus_factor(collective::all_reduce, most_ranks) ==
              fs::fraction{8589934588U, most_ranks});
static_assert(fs::bus_factor(collective::reduce_scatter, 8) == fs::fraction{7, 8});
static_assert(fs::bus_factor(collective::all_gather, 3) == fs::fraction{2, 3});
static_assert(fs::bus_factor(collective::all_gather_v, 3) == fs::fraction{2, 3});
static_assert(fs::bus_factor(collective::all_to_all, 5) == fs::fraction{4, 5});
static_assert(fs::bus_factor(collective::all_to_all_v, 5) == fs::fraction{4, 5});
static_assert(fs::bus_factor(collective::gather, 2) == fs::fraction{1, 2});
static_assert(fs::bus_factor(collective::scatter, 2) == fs::fraction{1, 2});
static_assert(fs::bus_factor(collective::broadcast, 8) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::reduce, 8) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::send, 8) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::recv, 8) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::send_recv, 8) == fs::fraction{1, 1});
static_assert(fs::bus_factor(collective::hypercube, 8) == fs::fraction{1, 1});
static_assert(fs::in_network_bus_factor(1) == fs::fraction{0, 1});
static_assert(fs::in_network_bus_factor(3) == fs::fraction{1, 2});
static_assert(fs::in_network_bus_factor(most_ranks) == fs::fraction{2147483647U, 2147483648U});

static_assert(fs::size_factor(collective::all_reduce, 8) == fs::fraction{1, 1});
static_assert(fs::size_factor(collective::all_gather, 8) == fs::fraction{8, 1});
static_assert(fs::size_factor(collective::reduce_scatter, 8) == fs::fraction{8, 1});
static_assert(fs::size_factor(collective::all_to_all, 8) == fs::fraction{8, 1});
static_assert(fs::size_factor(collective::gather, 8) == fs::fraction{8, 1});
static_assert(fs::size_factor(collective::scatter, 8) == fs::fraction{8, 1});
static_assert(fs::size_factor(collective::hypercube, 8) == fs::fraction{7, 1});

// An AllReduce of 1 GB among 8 ranks in 10 ms.
constexpr fs::bandwidth known = fs::bandwidth_of(collective::all_reduce, fs::GB, 8, 10'000'000);
static_assert(known.known && known.algorithm == fs::byte_rate{1e11} &&
              known.bus == fs::byte_rate{1.75e11});
static_assert(known.bus.gigabytes_per_second() == 175.0);

struct exact_row {
  collective kind;
  std::uint64_t argument;
  std::uint32_t ranks;
  std::uint64_t duration_ns;
  double algorithm;
  double bus;
};

// Computed in rational numbers and rounded once.
constexpr exact_row exact[] = {
    // clang-format off
    {collective::all_reduce, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd64ffe2329bp+94},
    {collective::all_reduce, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.3de4355555555p-34},
    {collective::all_reduce, 665496014308U, 43683473U, 9U, 0x1.008b776b1f67fp+66, 0x1.008b770897dfbp+67},
    {collective::all_reduce, 2995U, 14U, 10065165U, 0x1.22963c6c42cb8p+18, 0x1.0dd4a5d23e062p+19},
    {collective::all_gather, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::all_gather, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::all_gather, 1776U, 9375836U, 194804716U, 0x1.3e6e03439e9d2p+36, 0x1.3e6e0109d1749p+36},
    {collective::all_gather, 29790486124420534U, 242U, 338564711U, 0x1.27827163dec46p+64, 0x1.2649d679ac20bp+64},
    {collective::all_gather_v, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::all_gather_v, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::all_gather_v, 147U, 3327882U, 25008886U, 0x1.237b449e205ddp+34, 0x1.237b3ee0a6140p+34},
    {collective::all_gather_v, 75919U, 19361589U, 37415U, 0x1.17261eb2e13f5p+55, 0x1.17261dc0fdd8ep+55},
    {collective::reduce_scatter, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::reduce_scatter, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::reduce_scatter, 895759484248U, 422U, 12495588U, 0x1.ade66168f0a81p+54, 0x1.ace196901f675p+54},
    {collective::reduce_scatter, 4487U, 18U, 158U, 0x1.dc122533577e6p+38, 0x1.c19f5c05d2a20p+38},
    {collective::broadcast, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd6500000000p+93},
    {collective::broadcast, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.dcd6500000000p-35},
    {collective::broadcast, 66627625U, 208635761U, 1286194966288U, 0x1.94b43d0c0d9f9p+15, 0x1.94b43d0c0d9f9p+15},
    {collective::broadcast, 172803909013776728U, 52060U, 11727180U, 0x1.98fcd79a48d1cp+63, 0x1.98fcd79a48d1cp+63},
    {collective::reduce, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd6500000000p+93},
    {collective::reduce, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.dcd6500000000p-35},
    {collective::reduce, 351564607U, 550708U, 6336008107541988039U, 0x1.c68c2f52f8f1bp-5, 0x1.c68c2f52f8f1bp-5},
    {collective::reduce, 175520484102130184U, 3U, 13639438156100820U, 0x1.7f83a1d79f179p+33, 0x1.7f83a1d79f179p+33},
    {collective::all_to_all, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::all_to_all, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::all_to_all, 16416017773909U, 1811180649U, 61U, 0x1.89bb4237066ebp+98, 0x1.89bb423360c08p+98},
    {collective::all_to_all, 782U, 713288U, 17474479759309U, 0x1.f2c1552c2c557p+14, 0x1.f2c12758f943dp+14},
    {collective::all_to_all_v, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::all_to_all_v, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::all_to_all_v, 484208458558239441U, 60U, 23511073321U, 0x1.12611bcab5dc6p+60, 0x1.0dce6c6532d47p+60},
    {collective::all_to_all_v, 31U, 678563U, 206553899134042287U, 0x1.a122ffec5c4b1p-4, 0x1.a122d7a2cfb9cp-4},
    {collective::gather, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::gather, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::gather, 752838562353800U, 189271U, 193746586134622761U, 0x1.567836cbf7708p+39, 0x1.5677c03709bc5p+39},
    {collective::gather, 16177U, 3U, 99339759823U, 0x1.e88917085d7bap+8, 0x1.45b0ba0593a7cp+8},
    {collective::scatter, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffe2329bp+125, 0x1.dcd64ffc46536p+125},
    {collective::scatter, 1U, 3U, 18446744073709551615U, 0x1.65a0bc0000000p-33, 0x1.dcd6500000000p-34},
    {collective::scatter, 1708957520U, 61526495U, 3068916285533387239U, 0x1.05654dfe95df3p+25, 0x1.05654db74eaccp+25},
    {collective::scatter, 158365272813742198U, 231573U, 214769U, 0x1.1a7e07b866e6bp+87, 0x1.1a7db7c623048p+87},
    {collective::send, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd6500000000p+93},
    {collective::send, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.dcd6500000000p-35},
    {collective::send, 39647499655190025U, 185177U, 6463049549028170U, 0x1.6da4db99d3213p+32, 0x1.6da4db99d3213p+32},
    {collective::send, 129905399291741U, 84U, 1269182U, 0x1.6ba21834c2121p+56, 0x1.6ba21834c2121p+56},
    {collective::recv, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd6500000000p+93},
    {collective::recv, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.dcd6500000000p-35},
    {collective::recv, 707076898U, 395U, 5433705306041519150U, 0x1.0a8084f2f7f16p-3, 0x1.0a8084f2f7f16p-3},
    {collective::recv, 4408156U, 2146U, 219648U, 0x1.2b0ddbef2fbd3p+34, 0x1.2b0ddbef2fbd3p+34},
    {collective::send_recv, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd6500000000p+93, 0x1.dcd6500000000p+93},
    {collective::send_recv, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-35, 0x1.dcd6500000000p-35},
    {collective::send_recv, 159410330315511U, 1998791U, 90504U, 0x1.8719da591ac9ap+60, 0x1.8719da591ac9ap+60},
    {collective::send_recv, 58U, 26714000U, 466289112190125U, 0x1.04db698f97b0dp-13, 0x1.04db698f97b0dp-13},
    {collective::hypercube, 18446744073709551615U, 4294967295U, 1U, 0x1.dcd64ffc46536p+125, 0x1.dcd64ffc46536p+125},
    {collective::hypercube, 1U, 3U, 18446744073709551615U, 0x1.dcd6500000000p-34, 0x1.dcd6500000000p-34},
    {collective::hypercube, 1846715685214932235U, 3U, 504U, 0x1.83f420fd263adp+82, 0x1.83f420fd263adp+82},
    {collective::hypercube, 59139937U, 225U, 925998072585U, 0x1.b495c5b6d040ep+23, 0x1.b495c5b6d040ep+23},
    // clang-format on
};

}  // namespace

TEST_CASE("stats.bandwidth: every operation is exact at every size, rank count and time") {
  for (const exact_row& row : exact) {
    CAPTURE(fs::to_string(row.kind));
    CAPTURE(row.ranks);
    const fs::bandwidth got =
        fs::bandwidth_of_call(row.kind, {row.argument}, row.ranks, row.duration_ns);
    CHECK(got.known);
    CHECK(got.algorithm.value == row.algorithm);
    CHECK(got.bus.value == row.bus);
  }
}

TEST_CASE("stats.bandwidth: from the size and from the call's bytes is the same") {
  for (const collective kind : all) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 1000U, 4097U}) {
      for (const std::uint64_t part : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096},
                                       (std::uint64_t{1} << 40) + 1}) {
        const fs::fraction whole = fs::size_factor(kind, ranks);
        REQUIRE(whole.denominator == 1);
        const auto call = fs::bandwidth_of_call(kind, {part}, ranks, 12345);
        const auto size = fs::bandwidth_of(kind, {part * whole.numerator}, ranks, 12345);
        CHECK(call.algorithm == size.algorithm);
        CHECK(call.bus == size.bus);
        CHECK(call.known);
      }
    }
  }
}

TEST_CASE("stats.bandwidth: one rank, no time and no ranks are defined") {
  for (const collective kind : all) {
    CAPTURE(fs::to_string(kind));
    const auto alone = fs::bandwidth_of(kind, fs::MB, 1, 1000);
    CHECK(alone.known);
    CHECK(alone.algorithm.value == 1e12);
    const bool moves_nothing = fs::bus_factor(kind, 1) == fs::fraction{0, 1};
    CHECK(alone.bus.value == (moves_nothing ? 0.0 : 1e12));
    for (const auto& unknown :
         {fs::bandwidth_of(kind, fs::MB, 8, 0), fs::bandwidth_of(kind, fs::MB, 0, 1000),
          fs::bandwidth_of_call(kind, fs::MB, 8, 0),
          fs::bandwidth_of_call(kind, fs::MB, 0, 1000)}) {
      CHECK(!unknown.known);
      CHECK(unknown.algorithm.value == 0.0);
      CHECK(unknown.bus.value == 0.0);
    }
    const auto nothing = fs::bandwidth_of(kind, fs::bytes{0}, 8, 1000);
    CHECK(nothing.known);  // no bytes in some time is a rate, and it is 0
    CHECK(nothing.bus.value == 0.0);
  }
  CHECK(fs::bandwidth_of_call(collective::hypercube, fs::MB, 1, 1000).algorithm.value == 0.0);
  CHECK(!fs::bandwidth_of(collective::none, fs::MB, 8, 1000).known);
  CHECK(!fs::bandwidth_of(static_cast<collective>(200), fs::MB, 8, 1000).known);
  CHECK(fs::bus_factor(static_cast<collective>(200), 8) == fs::fraction{});
  CHECK(fs::in_network_bus_factor(0) == fs::fraction{});
}

TEST_CASE("stats.bandwidth: the bus figure grows with n towards its limit and never above") {
  for (const collective kind : all) {
    double last = -1.0;
    const double limit = kind == collective::all_reduce ? 2.0 : 1.0;
    for (std::uint64_t ranks = 1; ranks <= most_ranks; ranks = ranks * 5 / 3 + 1) {
      const double factor = fs::bus_factor(kind, static_cast<std::uint32_t>(ranks)).value();
      CHECK(factor >= last);
      CHECK(factor <= limit);
      last = factor;
    }
    CHECK(last > limit * 0.999999);
  }
}

TEST_CASE("stats.bandwidth: a quotient is the nearest double") {
  std::uint64_t state = 1;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  std::uint64_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t a = next() >> (next() % 64);
    const std::uint64_t b = (next() >> (next() % 64)) | 1;
    const double got = fs::detail::nearest_quotient(a, b);
    if (a < (std::uint64_t{1} << 53) && b < (std::uint64_t{1} << 53)) {
      // Both are doubles: one IEEE division is the nearest.
      wrong += got == static_cast<double>(a) / static_cast<double>(b) ? 0U : 1U;
    } else {
      const long double ratio = static_cast<long double>(a) / static_cast<long double>(b);
      wrong += std::abs(static_cast<long double>(got) - ratio) <= ratio * 0x1.002p-53L ? 0U : 1U;
    }
  }
  CHECK(wrong == 0);
  // Ties go to the even neighbour, a trace above a tie goes up.
  const std::uint64_t tie = (std::uint64_t{1} << 53) + 1;
  CHECK(fs::detail::nearest_quotient(tie, 1) == 0x1p53);
  CHECK(fs::detail::nearest_quotient(tie + 2, 1) == 0x1p53 + 4);
  CHECK(fs::detail::nearest_quotient(fs::detail::wide{tie} * 1000 + 1, 1000) == 0x1p53 + 2);
  CHECK(fs::detail::nearest_quotient(most, 1) == 0x1p64);
}
