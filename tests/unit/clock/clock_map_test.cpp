// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fabscope/clock/clock_map.hpp>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

using fabscope::clock_anchor;
using fabscope::clock_kind;
using fabscope::clock_map;
using fabscope::clock_map_data;

namespace {

/// A counter of 2.5 GHz whose distance from CLOCK_MONOTONIC a test moves as it likes.
struct machine {
  double ns = 1e9;
  double ticks = 7e12;
  double ns_per_tick = 0.4;

  void run(double for_ns) {
    ns += for_ns;
    ticks += for_ns / ns_per_tick;
  }
  [[nodiscard]] clock_anchor anchor(double error_ns = 0) const {
    return {static_cast<std::uint64_t>(ticks), static_cast<std::uint64_t>(ns + error_ns), 50};
  }
  [[nodiscard]] std::uint64_t now() const { return static_cast<std::uint64_t>(ticks); }
};

struct started {
  std::unique_ptr<clock_map_data> data{new clock_map_data{}};
  machine m;
  clock_map map{*data};
  clock_anchor first = m.anchor();

  started() {
    m.run(1e6);
    CHECK(map.start(clock_kind::tsc, first, m.anchor()));
  }
  [[nodiscard]] double error() const { return static_cast<double>(map.to_ns(m.now())) - m.ns; }
};

}  // namespace

TEST_CASE("clock.clock_map: zeroed memory maps a tick to itself") {
  const auto data = std::make_unique<clock_map_data>();
  CHECK(fabscope::ticks_to_ns(*data, 12345) == 12345);
}

TEST_CASE("clock.clock_map: CLOCK_MONOTONIC ticks stay as they are") {
  const auto data = std::make_unique<clock_map_data>();
  clock_map map(*data);
  CHECK(map.start(clock_kind::monotonic) == clock_kind::monotonic);
  CHECK_FALSE(map.refresh());
  for (const std::uint64_t t : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0} >> 1}) {
    CHECK(map.to_ns(t) == t);
  }
}

TEST_CASE("clock.clock_map: goes through both anchors and on, also before the first") {
  const started s;
  CHECK(s.map.to_ns(s.first.ticks) == s.first.ns);
  const std::uint64_t later = s.map.to_ns(s.first.ticks + 2'500'000'000);
  CHECK(later >= s.first.ns + 999'999'990);
  CHECK(later <= s.first.ns + 1'000'000'000);
  CHECK(s.map.to_ns(s.first.ticks - 2'500'000) == s.first.ns - 1'000'000);
  CHECK(s.map.to_ns(0) == 0);  // 7e12 ticks before: not below zero
}

TEST_CASE("clock.clock_map: no rate from anchors that give none") {
  const auto data = std::make_unique<clock_map_data>();
  clock_map map(*data);
  CHECK_FALSE(map.start(clock_kind::tsc, {100, 100, 0}, {100, 200, 0}));  // stands still
  CHECK_FALSE(map.start(clock_kind::tsc, {100, 100, 0}, {90, 200, 0}));   // runs backwards
  CHECK_FALSE(map.start(clock_kind::tsc, {100, 100, 0}, {200, 100, 0}));
  CHECK_FALSE(map.start(clock_kind::tsc, {100, 100, 0}, {101, 1'000'000, 0}));  // 1 kHz
}

TEST_CASE("clock.clock_map: real stamps are within 1 us of CLOCK_MONOTONIC, always") {
  const auto data = std::make_unique<clock_map_data>();
  clock_map map(*data);
  const clock_kind kind = map.start(fabscope::pick_clock());
  const std::uint64_t start = fabscope::monotonic_ns();
  std::uint64_t checked = 0;
  std::uint64_t refreshed = 0;
  std::uint64_t worst = 0;
  std::uint64_t last = 0;
  for (std::uint64_t before = start; before - start < 300'000'000;) {
    refreshed += map.refresh() ? 1U : 0U;
    before = fabscope::monotonic_ns();
    const std::uint64_t ticks = fabscope::now_ticks(kind);
    const std::uint64_t after = fabscope::monotonic_ns();
    const std::uint64_t ns = map.to_ns(ticks);
    REQUIRE(ns >= last);
    last = ns;
    const std::uint64_t off = ns < before ? before - ns : ns > after ? ns - after : 0;
    worst = std::max(worst, off);
    ++checked;
  }
  CHECK(checked > 1000);
  CHECK(worst < 1000);
  if (kind != clock_kind::monotonic) {
    CHECK(refreshed >= 8);
  }
  MESSAGE(std::string(fabscope::to_string(kind)), ": ", checked, " stamps, worst ", worst,
          " ns, stated ", map.error_ns(), " ns");
}

TEST_CASE("clock.clock_map: a first rate that is wrong is corrected in time") {
  started s;
  s.map.start(clock_kind::tsc, {s.first.ticks, s.first.ns + 3, 50}, s.m.anchor(-2));  // 5 ppm off
  double worst = 0;
  for (double step = 1e6; s.m.ns < 3e9; step = std::min(step * 2, 125e6)) {
    for (int i = 0; i < 10; ++i) {
      s.m.run(step / 10);
      worst = std::max(worst, std::abs(s.error()));
    }
    s.map.update(s.m.anchor());
  }
  CHECK(worst < 300);
  CHECK(std::abs(s.error()) < 60);
}

TEST_CASE("clock.clock_map: follows a kernel that changes its rate") {
  started s;
  for (int i = 0; i < 20; ++i) {
    s.m.run(125e6);
    s.map.update(s.m.anchor());
  }
  s.m.ns_per_tick *= 1 + 2e-6;  // an NTP daemon turns by 2 ppm
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 25; ++j) {
      s.m.run(5e6);
      worst = std::max(worst, std::abs(s.error()));
    }
    s.map.update(s.m.anchor());
  }
  CHECK(worst < 1000);
  CHECK(worst > 200);  // else this test does not turn anything
  CHECK(std::abs(s.error()) < 100);
  CHECK(s.map.error_ns() >= 200);
}

TEST_CASE("clock.clock_map: never steps back, whatever the anchors say") {
  std::mt19937_64 random(20240607);
  started s;
  struct conversion {
    std::uint64_t ticks;
    std::uint64_t ns;
  };
  std::vector<conversion> seen;
  for (int i = 0; i < 400; ++i) {
    s.m.run(1e4 + static_cast<double>(random() % 50'000'000));
    const double noise = static_cast<double>(random() % 40'000) - 20'000;
    s.m.ns_per_tick = 0.4 * (1 + (static_cast<double>(random() % 2001) - 1000) * 1e-6);
    const std::uint64_t now = s.m.now();
    const auto convert = [&] {
      for (int j = 0; j < 20; ++j) {
        // Up to 50 ms old: younger than anything that thinning touches.
        const std::uint64_t ticks = now - random() % 125'000'000;
        seen.push_back({ticks, s.map.to_ns(ticks)});
      }
      seen.push_back({now, s.map.to_ns(now)});
    };
    convert();
    s.map.update(s.m.anchor(noise));
    convert();
    if (i % 10 == 9) {
      std::sort(seen.begin(), seen.end(), [](const conversion& a, const conversion& b) {
        return a.ticks != b.ticks ? a.ticks < b.ticks : a.ns < b.ns;
      });
      std::uint64_t reached = 0;
      bool forwards = true;
      for (const conversion& one : seen) {
        forwards = forwards && one.ns >= reached;
        reached = one.ns;
      }
      REQUIRE(forwards);
      for (const conversion& one : seen) {
        if (one.ticks + 125'000'000 > now) {
          REQUIRE(s.map.to_ns(one.ticks) == one.ns);
        }
      }
      seen.clear();
    }
  }
  CHECK(s.data->generation > 0);  // thinning took place
}

TEST_CASE("clock.clock_map: hours of corrections fit, old ticks stay within what is stated") {
  std::mt19937_64 random(7);
  started s;
  struct stamp {
    std::uint64_t ticks;
    double ns;
  };
  std::vector<stamp> stamps;
  for (int i = 0; i < 40'000; ++i) {  // 83 minutes
    s.m.run(125e6);
    if (i % 100 == 0) {
      const double ppm = (static_cast<double>(random() % 101) - 50) * 0.001;
      s.m.ns_per_tick = 0.4 * (1 + ppm * 1e-6);
      stamps.push_back({s.m.now(), s.m.ns});
    }
    s.map.update(s.m.anchor(static_cast<double>(random() % 21) - 10));
  }
  CHECK(s.data->generation > 2);
  std::uint64_t slack = 0;
  const auto& table = s.data->tables[s.data->generation & 1];
  for (std::uint64_t i = 0; i < table.count; ++i) {
    slack = std::max<std::uint64_t>(slack, table.segments[i].slack_ns);
  }
  double worst = 0;
  std::uint64_t last = 0;
  bool forwards = true;
  for (const stamp& one : stamps) {
    const std::uint64_t ns = s.map.to_ns(one.ticks);
    worst = std::max(worst, std::abs(static_cast<double>(ns) - one.ns));
    forwards = forwards && ns >= last;
    last = ns;
  }
  CHECK(forwards);
  CHECK(worst < 1000);
  CHECK(worst <= static_cast<double>(s.map.error_ns() + slack + 250));
  MESSAGE("worst ", worst, " ns, slack ", slack, " ns, generation ", s.data->generation);
}

TEST_CASE("clock.clock_map: a counter that goes back is counted and time goes on") {
  started s;
  s.m.run(125e6);
  s.map.update(s.m.anchor());
  const std::uint64_t before = s.map.to_ns(s.m.now());
  s.m.ticks = 1000;  // the machine slept and its counter began anew
  s.m.run(1e6);
  s.map.update(s.m.anchor());
  CHECK(s.data->backward_total == 1);
  CHECK(s.map.to_ns(s.m.now()) >= before);
  for (int i = 0; i < 20; ++i) {
    s.m.run(125e6);
    s.map.update(s.m.anchor());
  }
  CHECK(std::abs(s.error()) < 100);
  CHECK(s.data->backward_total == 1);
}

TEST_CASE("clock.clock_map: clocks that part by more than 10 ms join again, forwards only") {
  for (const double jump : {50e6, -50e6, 3e9}) {
    started s;
    for (int i = 0; i < 20; ++i) {
      s.m.run(125e6);
      s.map.update(s.m.anchor());
    }
    s.m.ns += jump;
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) {
      s.map.update(s.m.anchor());
      for (int j = 0; j < 100; ++j) {
        s.m.run(1.25e6);
        const std::uint64_t ns = s.map.to_ns(s.m.now());
        REQUIRE(ns >= last);
        last = ns;
      }
    }
    CHECK(s.data->jump_total >= 1);
    CHECK(s.map.error_ns() >= 50'000'000);
    CHECK(std::abs(s.error()) < 1000);
  }
}

TEST_CASE("clock.clock_map: a bracket torn by an interrupt is not believed") {
  started s;
  for (int i = 0; i < 20; ++i) {
    s.m.run(125e6);
    s.map.update(s.m.anchor());
  }
  const auto segments = s.data->tables[0].count;
  s.m.run(125e6);
  clock_anchor torn = s.m.anchor(900'000);
  torn.width_ticks = 5'000'000;
  s.map.update(torn);
  CHECK(s.data->tables[0].count == segments);
  CHECK(std::abs(s.error()) < 60);
}

TEST_CASE(
    "clock.clock_map: a copy of the memory converts as the map does, a damaged one without a "
    "fault") {
  started s;
  for (int i = 0; i < 30; ++i) {
    s.m.run(125e6);
    s.map.update(s.m.anchor(i % 2 == 0 ? 400 : -400));
  }
  const auto copy = std::make_unique<clock_map_data>(*s.data);
  for (std::uint64_t t = s.first.ticks - 1000; t < s.m.now(); t += 123'456'789) {
    CHECK(fabscope::ticks_to_ns(*copy, t) == s.map.to_ns(t));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    for (std::size_t at = 0; at < sizeof *copy; at += 8) {
      const std::uint64_t noise = random();
      std::memcpy(reinterpret_cast<char*>(copy.get()) + at, &noise, 8);
    }
    (void)fabscope::ticks_to_ns(*copy, random());
  }
}

TEST_CASE("clock.clock_map: readers convert while another thread updates and thins") {
  // Paced, the updater stays within the pieces that thinning leaves alone, as it does in real time;
  // else it overtakes readers by whole tables, and they may only not see a torn piece.
  for (const bool paced : {true, false}) {
    const auto data = std::make_unique<clock_map_data>();
    clock_map map(*data);
    const clock_anchor first{1'000'000'000, 500'000'000, 20};
    const clock_anchor second{1'002'500'000, 501'000'000, 20};
    REQUIRE(map.start(clock_kind::tsc, first, second));
    std::atomic<std::uint64_t> published{second.ticks};
    std::atomic<std::uint64_t> seen[2] = {second.ticks, second.ticks};
    std::atomic<std::uint64_t> converted{0};
    std::atomic<std::uint64_t> stepped_back{0};
    std::atomic<std::uint64_t> off_by{0};
    std::atomic<bool> stop{false};
    const auto reader = [&](std::size_t number) {
      std::mt19937_64 random(number);
      std::uint64_t last_ticks = 0;
      std::uint64_t last_ns = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const std::uint64_t now = published.load(std::memory_order_acquire);
        const std::uint64_t ticks = std::max(last_ticks, now - random() % 100'000);
        const std::uint64_t ns = map.to_ns(ticks);
        const std::uint64_t ideal = 500'000'000 + (ticks - first.ticks) * 2 / 5;
        const std::uint64_t off = ns < ideal ? ideal - ns : ns - ideal;
        if (ns < last_ns) {
          stepped_back.fetch_add(1);
        }
        if (off > off_by.load()) {
          off_by.store(off);
        }
        last_ticks = ticks;
        last_ns = ns;
        converted.fetch_add(1, std::memory_order_relaxed);
        seen[number].store(now, std::memory_order_release);
      }
    };
    std::thread one(reader, 0);
    std::thread two(reader, 1);
    std::mt19937_64 random(3);
    std::uint64_t ticks = second.ticks;
    for (int i = 0; i < 1500 || converted.load(std::memory_order_relaxed) < 20'000; ++i) {
      ticks += 25'000'000;  // 10 ms
      const std::uint64_t ns = 500'000'000 + (ticks - first.ticks) * 2 / 5;
      map.update({ticks, ns + random() % 800 - 400, 20});
      published.store(ticks, std::memory_order_release);
      for (const auto& reached : seen) {
        while (paced && ticks - reached.load(std::memory_order_acquire) > 10 * 25'000'000) {
          std::this_thread::yield();
        }
      }
    }
    stop.store(true);
    one.join();
    two.join();
    if (paced) {
      CHECK(stepped_back.load() == 0);
    }
    CHECK(off_by.load() < 3000);
    CHECK(data->generation > 3);
    MESSAGE("paced ", paced, " off by at most ", off_by.load(), " ns, back ", stepped_back.load(),
            " times of ", converted.load());
  }
}
