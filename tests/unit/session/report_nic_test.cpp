// SPDX-License-Identifier: Apache-2.0
// Hardware counters in the report, and which of them moved with slow operations.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/session/report_nic.hpp>
#include <fabscope/stats/chance.hpp>
#include <fabscope/stats/sample_ring.hpp>

#include "segment_fixture.hpp"

namespace fs = fabscope;
using namespace segment_test;

namespace {

constexpr std::size_t counters = 40;
constexpr std::uint64_t period = 1000000;
constexpr std::uint64_t from = 1000000000;

/// One NIC with many counters and operations; each window between samples has one operation.
struct scene {
  made_segment made;
  std::uint32_t nic = made.label("cxi0");
  std::uint32_t thread = made.thread(4096, 77, "worker");
  fs::nic_counter_row* rows = made.rows<fs::nic_counter_row>(0, counters);
  fs::nic_block_row* blocks = made.rows<fs::nic_block_row>(0, 200);
  fs::nic_histogram_row* histogram = made.rows<fs::nic_histogram_row>(0, 1);
  fs::sample_writer writer;
  std::vector<std::uint64_t> values = std::vector<std::uint64_t>(counters);
  std::vector<fs::sample_state> states = std::vector<fs::sample_state>(counters);
  std::uint64_t seed = 88172645463325252U;

  scene() {
    for (std::uint32_t i = 0; i < counters; ++i) {
      rows[i].used = fs::row_in_use;
      rows[i].device = nic;
      rows[i].name = made.label("counter_" + std::to_string(i));
      rows[i].column = i;
      rows[i].bits = 64;
      rows[i].scale = 1;
    }
    histogram->used = fs::row_in_use;
    histogram->nic = nic;
    histogram->op = static_cast<std::uint8_t>(fs::operation::write);
    histogram->size = fs::size_class(4096);
    for (int i = 0; i < 1000; ++i) {
      ++histogram->histogram[fs::nic_histogram_row::scale::bucket_of(10000)];
    }
    REQUIRE(writer.start(blocks, 200, counters));
  }

  std::uint64_t random() {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
  }

  void sample(std::size_t number) {
    const std::uint64_t at = from + number * period;
    writer.add(at, at + 1000, 0, values.data(), states.data());
  }
  void operation(std::size_t window, bool slow) {
    fs::operation_record one;
    one.header.ticks = from + window * period + 1000 + random() % (period / 2);
    one.end = one.header.ticks + (slow ? 300000 : 9000);
    one.bytes = 4096;
    one.nic = nic;
    one.op = static_cast<std::uint8_t>(fs::operation::write);
    made.push(thread, one);
  }
};

}  // namespace

TEST_CASE("stats.chance: Fisher's exact test, one-sided") {
  // The lady and her tea: 4 of 4 right is 1 in 70, 3 of 4 is 17 in 70.
  CHECK(fs::coincidence{4, 0, 0, 4}.chance() == doctest::Approx(1.0 / 70));
  CHECK(fs::coincidence{3, 1, 1, 3}.chance() == doctest::Approx(17.0 / 70));
  CHECK(fs::coincidence{1, 0, 0, 99}.chance() == doctest::Approx(0.01));
  CHECK(fs::coincidence{0, 5, 3, 5}.chance() == doctest::Approx(1.0));
  CHECK(fs::coincidence{0, 0, 3, 5}.chance() == 1);
  CHECK(fs::coincidence{3, 5, 0, 0}.chance() == 1);
  CHECK(fs::coincidence{0, 5, 0, 5}.chance() == 1);
}

TEST_CASE("session.report_nic: a counter that steps with slow operations comes first") {
  scene in;
  in.sample(0);
  for (std::size_t window = 0; window < 400; ++window) {
    const bool slow = window % 20 == 7;
    in.operation(window, slow);
    in.values[0] += 1000 + in.random() % 50;  // always moves
    for (std::size_t i = 1; i < counters; ++i) in.values[i] += in.random() % 4 == 0 ? 1U : 0U;
    if (slow || in.random() % 50 == 0) in.values[17] += 3;      // the planted one
    if (slow) in.values[23] += in.random() % 3 == 0 ? 1U : 0U;  // weakly
    in.sample(window + 1);
  }
  const auto view = in.made.view();
  const fs::report_extra extra;
  const fs::detail::report_data data(view, extra);
  const auto moved = fs::detail::moved_with_slow(data);
  REQUIRE(!moved.empty());
  CHECK(data.name(moved[0].name) == "counter_17");
  CHECK(moved[0].windows.slow() == 20);
  CHECK(moved[0].windows.slow_moved == 20);
  CHECK(moved[0].windows.quiet() == 380);
  CHECK(moved[0].slow_rate > 2 * moved[0].quiet_rate);
  CHECK(moved[0].chance < 1e-6);
  CHECK(moved.size() == 1);

  std::string text;
  fs::detail::print_moved_with_slow(text, data);
  CHECK(text.find("\ncxi0    counter_17            20     20") != std::string::npos);
  std::vector<std::string> found;
  fs::detail::find_nic_trouble(found, data);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rfind("slow operations came with counter_17 of cxi0: it moved in 20 of 20 windows",
                       0) == 0);
}

TEST_CASE("session.report_nic: counters that move by themselves are not told") {
  std::size_t told = 0;
  for (std::uint64_t run = 1; run <= 20; ++run) {
    scene in;
    in.seed *= 2 * run + 1;
    in.sample(0);
    for (std::size_t window = 0; window < 300; ++window) {
      in.operation(window, in.random() % 15 == 0);
      for (std::size_t i = 0; i < counters; ++i) {
        in.values[i] += in.random() % (2 + i) == 0 ? 1 + in.random() % 9 : 0;
      }
      in.sample(window + 1);
    }
    const auto view = in.made.view();
    const fs::report_extra extra;
    const fs::detail::report_data data(view, extra);
    told += fs::detail::moved_with_slow(data).size();
  }
  CHECK(told == 0);  // 1 in 100 runs may have one; these 20 are always the same
}

TEST_CASE("session.report_nic: too few samples or operations say nothing") {
  scene in;
  const auto view = in.made.view();
  const fs::report_extra extra;
  CHECK(fs::detail::moved_with_slow(fs::detail::report_data(view, extra)).empty());
}

TEST_CASE("session.report_nic: what should stand still comes first, with its doubts") {
  made_segment made;
  const auto nic = made.label("mlx5_0");
  auto* device = made.rows<fs::nic_device_row>(0, 1);
  device->used = fs::row_in_use;
  device->device = nic;
  device->device_class = made.label("infiniband");
  device->driver = made.label("mlx5_core");
  device->speed_mbps = 400000;
  device->sampler = 4242;
  device->gone = 1;
  device->back = 1;
  device->gone_at = 1500000000;
  auto* rows = made.rows<fs::nic_counter_row>(0, 4);
  const char* names[] = {"port_xmit_data", "port_xmit_packets", "out_of_sequence", "active_qps"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    rows[i].used = fs::row_in_use;
    rows[i].device = nic;
    rows[i].name = made.label(names[i]);
    rows[i].unit = made.label(i == 0 ? "B" : i == 1 ? "packets" : "events");
    rows[i].column = i;
    rows[i].bits = 64;
    rows[i].scale = 1;
    rows[i].samples = 10;
    rows[i].observed = 2000000000;
    rows[i].total = 1000000;
    rows[i].fastest = 900000;
  }
  rows[0].role = static_cast<std::uint8_t>(fs::nic_role::tx_bytes);
  rows[0].scale = 4;
  rows[2].flags = fs::nic_should_be_zero;
  rows[2].total = 12;
  rows[2].missing = 2;
  rows[2].resets = 1;
  rows[3].kind = static_cast<std::uint8_t>(fs::metric_kind::gauge);
  rows[3].total = 0;
  rows[3].min = 3;
  rows[3].max = 9;
  rows[3].last = 5;
  auto* rate = made.rows<fs::nic_rate_row>(0, 1);
  rate->used = fs::row_in_use;
  rate->device = nic;
  rate->name = rows[0].name;
  rate->add(3000000);

  const auto view = made.view();
  const fs::report_extra extra;
  const fs::detail::report_data data(view, extra);
  std::string text;
  fs::detail::print_nic_counters(text, data);
  INFO(text);
  const auto at = [&](const char* part) { return text.find(part); };
  CHECK(at("== nic devices ==") < at("== nic throughput =="));
  CHECK(at("== nic throughput ==") < at("== nic trouble =="));
  CHECK(at("== nic trouble ==") < at("== nic counters =="));
  CHECK(at("== nic counters ==") < at("== nic levels =="));
  CHECK(at("port_xmit_data  4000000  0.002") != std::string::npos);  // words of four bytes
  CHECK(at("missing=2,resets=1") != std::string::npos);
  CHECK(at("# mlx5_0 was gone 1 times, the last at +0.500 s, and returned 1 times") !=
        std::string::npos);
  CHECK(text.find("active_qps", at("== nic levels ==")) != std::string::npos);
  CHECK(text.find("port_xmit_data", at("== nic trouble ==")) == std::string::npos);
  std::vector<std::string> found;
  fs::detail::find_nic_trouble(found, data);
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "1 hardware counters moved that stand still in a healthy run; most out_of_sequence of "
        "mlx5_0: 12 events");
}
