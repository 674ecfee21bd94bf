// SPDX-License-Identifier: Apache-2.0
// A clock of one's own, and a recorder of scopes that works with any clock and needs no session.
#include <cstdio>
#include <fabscope/fabscope.hpp>

using namespace fabscope::literals;

/// Goes on while the machine sleeps. Units: ns.
struct boot_clock {
  static std::uint64_t now() noexcept { return fabscope::boottime_ns(); }
};
static_assert(fabscope::tick_clock<boot_clock>);

/// Sums the lengths of a thread's scopes, in ticks of Clock.
template <fabscope::tick_clock Clock>
struct summing_recorder {
  struct token {
    std::uint64_t begin;
  };
  static token begin(fabscope::site&) noexcept { return {Clock::now()}; }
  static void end(token& one, std::uint64_t, std::int64_t) noexcept {
    lengths.record(Clock::now() - one.begin);
  }
  static inline thread_local constinit fabscope::moments lengths;
};
static_assert(fabscope::scope_recorder<summing_recorder<boot_clock>>);

int main() {
  // A test sets its clock by hand, so that it is exact.
  using test_clock = fabscope::manual_clock<>;
  for (std::uint64_t length : {10U, 20U, 60U}) {
    const fabscope::basic_scope<summing_recorder<test_clock>> scope{"known"_name};
    test_clock::advance(length);
  }
  const fabscope::moments& known = summing_recorder<test_clock>::lengths;

  {
    const fabscope::basic_scope<summing_recorder<boot_clock>> scope{"spin"_name};
    const std::uint64_t begin = boot_clock::now();
    while (boot_clock::now() - begin < 1'000'000) {
    }
  }
  const fabscope::moments& real = summing_recorder<boot_clock>::lengths;
  std::printf("by hand: mean %.0f ticks; spin: %.3f ms\n", known.mean(), real.mean() / 1e6);
  return known.count() == 3 && known.mean() == 30 && (real.min)() >= 1'000'000 ? 0 : 1;
}
