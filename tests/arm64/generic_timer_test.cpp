// SPDX-License-Identifier: Apache-2.0
// The generic timer of arm64 through the library's own clocks. Under qemu-user the timer is made by
// the emulator from the host's clock: its rate and the instructions are tested, a real one is not.
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/clock/clock_map.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/session.hpp>
#include <memory>
#include <span>
#include <vector>

#ifndef __aarch64__
#error "this test is about arm64"
#endif

namespace {

std::uint64_t timer_hz() {
  std::uint64_t hz;
  asm("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
}

void spin_ns(std::uint64_t ns) {
  const std::uint64_t begin = fabscope::monotonic_ns();
  while (fabscope::monotonic_ns() - begin < ns) {
  }
}

struct kept_scopes {
  std::vector<fabscope::scope_record> records;
  std::vector<std::uint64_t> ns;
  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const fabscope::scope_record& one : batch) {
      records.push_back(one);
      ns.push_back(about.ns(one.end) - about.ns(one.header.ticks));
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

}  // namespace

TEST_CASE("arm64.counter_clock: the counter is the generic timer") {
  CHECK(fabscope::counter_kind == fabscope::clock_kind::cntvct);
  CHECK(fabscope::detail::counter_is_invariant());
  std::uint64_t before;
  std::uint64_t after;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(before));
  const std::uint64_t ours = fabscope::counter_ticks();
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(after));
  CHECK(ours >= before);
  CHECK(ours <= after);
  CHECK(fabscope::now_ticks(fabscope::clock_kind::cntvct) >= ours);
}

TEST_CASE("arm64.counter_clock: the timer's rate is the one that it states") {
  const std::uint64_t hz = timer_hz();
  REQUIRE(hz >= 1'000'000);  // the architecture asks for 1 to 50 MHz, 1 GHz from v8.6 on
  const fabscope::clock_anchor first = fabscope::sample_anchor(fabscope::clock_kind::cntvct);
  spin_ns(50'000'000);
  const fabscope::clock_anchor second = fabscope::sample_anchor(fabscope::clock_kind::cntvct);
  const double stated = static_cast<double>(second.ns - first.ns) * static_cast<double>(hz) / 1e9;
  const auto counted = static_cast<double>(second.ticks - first.ticks);
  CHECK(counted > stated * 0.99);
  CHECK(counted < stated * 1.01);
}

TEST_CASE("arm64.clock_map: stamps of the timer become CLOCK_MONOTONIC") {
  const auto data = std::make_unique<fabscope::clock_map_data>();
  fabscope::clock_map map(*data);
  REQUIRE(map.start(fabscope::clock_kind::cntvct) == fabscope::clock_kind::cntvct);
  std::uint64_t last = 0;
  std::uint64_t worst = 0;
  const std::uint64_t begin = fabscope::monotonic_ns();
  for (std::uint64_t now = begin; now - begin < 50'000'000;) {
    map.refresh();
    now = fabscope::monotonic_ns();
    const std::uint64_t ns = map.to_ns(fabscope::counter_ticks());
    const std::uint64_t after = fabscope::monotonic_ns();
    CHECK(ns >= last);
    last = ns;
    if (ns < now && now - ns > worst) worst = now - ns;
    if (ns > after && ns - after > worst) worst = ns - after;
  }
  MESSAGE("worst ", worst, " ns, one tick is ", 1e9 / static_cast<double>(timer_hz()), " ns");
  CHECK(worst < 100'000);  // an emulated processor is interrupted between two of these
}

TEST_CASE("arm64.session: a session on the timer, asked for by the user") {
  using namespace fabscope::literals;
  kept_scopes kept;
  std::uint64_t inner = 0;
  std::uint64_t outer = fabscope::monotonic_ns();
  {
    fabscope::options chosen;
    chosen.outputs = fabscope::output_none;
    chosen.clock = fabscope::clock_choice::tsc;  // the counter, whatever the kernel uses
    fabscope::session session(chosen);
    REQUIRE(session.add_sink(kept) == fabscope::errc::ok);
    CHECK(static_cast<fabscope::clock_kind>(
              fabscope::detail::current_engine()->memory_file().base().head.clock) ==
          fabscope::clock_kind::cntvct);
    outer = fabscope::monotonic_ns();
    {
      const fabscope::scope one{"timed"_name, 7};
      inner = fabscope::monotonic_ns();
      spin_ns(5'000'000);
      inner = fabscope::monotonic_ns() - inner;
    }
    outer = fabscope::monotonic_ns() - outer;
  }
  REQUIRE(kept.records.size() == 1);
  CHECK(kept.records[0].bytes == 7);
  CHECK(kept.ns[0] >= inner - inner / 1000);
  CHECK(kept.ns[0] <= outer + outer / 1000);
}
