// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/manual_clock.hpp>
#include <string>

namespace {

/// A /sys with nothing but a clock source, removed at the end.
class fake_sys {
 public:
  explicit fake_sys(const char* source) {
    char name[] = "/tmp/fabscope-sys-XXXXXX";
    root_ = ::mkdtemp(name);
    std::string path = root_;
    for (const char* part : {"devices", "system", "clocksource", "clocksource0"}) {
      path += std::string("/") + part;
      made_[count_++] = path;
      ::mkdir(path.c_str(), 0700);
    }
    made_[count_++] = path + "/current_clocksource";
    std::FILE* file = std::fopen(made_[4].c_str(), "w");
    std::fputs(source, file);
    std::fclose(file);
  }
  fake_sys(const fake_sys&) = delete;
  fake_sys& operator=(const fake_sys&) = delete;
  ~fake_sys() {
    while (count_ > 0) {
      std::remove(made_[--count_].c_str());
    }
    std::remove(root_.c_str());
  }
  [[nodiscard]] const char* root() const { return root_.c_str(); }

 private:
  std::string root_;
  std::string made_[5];
  int count_ = 0;
};

const char* const trusted =
    fabscope::counter_kind == fabscope::clock_kind::tsc ? "tsc\n" : "arch_sys_counter\n";

}  // namespace

TEST_CASE("clock.counter_clock: the counter runs forwards and does not stand still") {
  const std::uint64_t first = fabscope::counter_ticks();
  std::uint64_t last = first;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = fabscope::counter_ticks();
    CHECK_MESSAGE(now >= last, "tick ", i);
    last = now;
  }
  const std::uint64_t begin = fabscope::monotonic_ns();
  while (fabscope::monotonic_ns() - begin < 100'000) {
  }
  CHECK(fabscope::counter_ticks() > first);
}

TEST_CASE("clock.counter_clock: the kernel's distrust gives CLOCK_MONOTONIC") {
  using enum fabscope::clock_kind;
  const fake_sys hpet("hpet\n");
  CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, hpet.root()) == monotonic);
  const fake_sys longer("tsc-early\n");
  CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, longer.root()) == monotonic);
  const fake_sys empty("");
  CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, empty.root()) == monotonic);
}

TEST_CASE("clock.counter_clock: an invariant counter that the kernel trusts is taken") {
  const fake_sys good(trusted);
  const auto expected = fabscope::detail::counter_is_invariant() ? fabscope::counter_kind
                                                                 : fabscope::clock_kind::monotonic;
  CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, good.root()) == expected);
}

TEST_CASE("clock.counter_clock: a root that is no /sys gives CLOCK_MONOTONIC") {
  using enum fabscope::clock_kind;
  const std::string endless(4000, 'x');
  for (const char* root : {"/nowhere/at/all", "", "/dev/null", endless.c_str()}) {
    CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, root) == monotonic);
  }
  CHECK(fabscope::pick_clock(fabscope::clock_choice::automatic, nullptr) == monotonic);
}

TEST_CASE("clock.counter_clock: the user's word beats the check") {
  const fake_sys good(trusted);
  CHECK(fabscope::pick_clock(fabscope::clock_choice::monotonic, good.root()) ==
        fabscope::clock_kind::monotonic);
  const fake_sys hpet("hpet\n");
  CHECK(fabscope::pick_clock(fabscope::clock_choice::tsc, hpet.root()) == fabscope::counter_kind);
}

TEST_CASE("clock.counter_clock: now_ticks reads the clock of its kind") {
  const std::uint64_t before = fabscope::monotonic_ns();
  const std::uint64_t ns = fabscope::now_ticks(fabscope::clock_kind::monotonic);
  CHECK(ns >= before);
  CHECK(ns <= fabscope::monotonic_ns());
  const std::uint64_t ticks = fabscope::counter_ticks();
  const std::uint64_t same = fabscope::now_ticks(fabscope::counter_kind);
  CHECK(same >= ticks);
  CHECK(same <= fabscope::counter_ticks());
}

TEST_CASE("clock.clock_snapshot: belongs to one moment") {
  const std::uint64_t mono = fabscope::monotonic_ns();
  const std::uint64_t boot = fabscope::boottime_ns();
  const std::uint64_t ticks = fabscope::counter_ticks();
  const fabscope::clock_snapshot shot = fabscope::take_snapshot(fabscope::counter_kind);
  CHECK(shot.monotonic_ns >= mono);
  CHECK(shot.monotonic_ns <= fabscope::monotonic_ns());
  CHECK(shot.boottime_ns >= boot);
  CHECK(shot.boottime_ns <= fabscope::boottime_ns());
  CHECK(shot.ticks >= ticks);
  CHECK(shot.ticks <= fabscope::counter_ticks());
  CHECK(shot.realtime_ns > 1'600'000'000'000'000'000U);
}

TEST_CASE("clock.manual_clock: holds what it is told, one per tag") {
  struct mine;
  struct yours;
  fabscope::manual_clock<mine>::set(5);
  fabscope::manual_clock<mine>::advance(7);
  CHECK(fabscope::manual_clock<mine>::now() == 12);
  CHECK(fabscope::manual_clock<yours>::now() == 0);
}
