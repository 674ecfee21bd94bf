// SPDX-License-Identifier: Apache-2.0
// scope_*: a named stretch of time, begin and end, in each way it can be recorded.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <fabscope/scope.hpp>

#include <support/live_session.hpp>
#include <support/lttng.hpp>
#include <support/row.hpp>
#include <support/thread_clock.hpp>

namespace bench {
namespace {

using namespace fabscope::literals;

using ring_only = fabscope::basic_scope<fabscope::session_recorder<false>>;
using ring_only_phases = fabscope::basic_phases<fabscope::session_recorder<false>>;

template <class Scope>
lane scopes(const char* name) {
  return {name, [](std::size_t n, unsigned) {
            for (std::size_t i = 0; i < n; ++i) {
              Scope one{"benchmark"_name, i, 7};
              asm volatile("" : : : "memory");
            }
          }};
}

/// Boundaries between phases: the end of one and the begin of the next.
template <class Phases>
lane boundaries() {
  return {"boundary", [](std::size_t n, unsigned) {
            Phases one{"first"_name};
            for (std::size_t i = 0; i < n; i += 2) {
              one.next("even"_name, i, 7);
              asm volatile("" : : : "memory");
              one.next("odd"_name, i, 8);
              asm volatile("" : : : "memory");
            }
          }};
}

/// A row that is measured in a session of its own.
row in_session(std::vector<lane> lanes, fabscope::level level, bool enabled = true) {
  auto session = std::make_shared<std::unique_ptr<live_session>>();
  row out{"", "two bare clock reads", 0, std::move(lanes)};
  out.enter = [session, level, enabled](unsigned) {
    *session = std::make_unique<live_session>(level);
    (*session)->get().enable(enabled);
  };
  out.leave = [session](unsigned) { session->reset(); };
  return out;
}

/// One scope every 2 us while the collector reads the ring: p99 and p50, without the stamps around.
/// On a shared host the processor is taken away some thousand times a second for a microsecond,
/// unseen by the kernel in the guest, and whatever is touched next misses its caches: even one load
/// has then a p99 of five times its p50. Those scopes say nothing about the library, so
/// `undisturbed` leaves out the ones before which a wait of 2 us had such a gap.
figures tail(double seconds, bool undisturbed) {
  constexpr std::size_t burst = 500;
  const fabscope::clock_kind clock = best_clock();
  const double ns_per_tick = [clock] {
    const std::uint64_t ns = wall_ns();
    const std::uint64_t ticks = fabscope::now_ticks(clock);
    while (wall_ns() - ns < 5000000) {
    }
    return static_cast<double>(wall_ns() - ns) /
           static_cast<double>(fabscope::now_ticks(clock) - ticks);
  }();
  const auto apart = static_cast<std::uint64_t>(2000 / ns_per_tick);
  const auto gap = static_cast<std::uint64_t>(300 / ns_per_tick);
  live_session session(fabscope::level::record);
  std::vector<std::uint64_t> kept;
  std::vector<std::uint64_t> empty;
  const std::uint64_t begin = wall_ns();
  // Nearly all of the time is spent waiting, so this row gets twice the usual.
  const auto enough = begin + static_cast<std::uint64_t>(seconds * 2e9);
  while (wall_ns() < enough || (kept.size() < burst * 20 && wall_ns() < enough + 2000000000)) {
    const long switches = preemptions();
    const std::size_t before = kept.size();
    std::uint64_t now = fabscope::now_ticks(clock);
    std::uint64_t next = now;
    for (std::size_t i = 0; i < burst; ++i) {
      next += apart;
      bool sound = true;
      while (now < next) {
        const std::uint64_t last = now;
        now = fabscope::now_ticks(clock);
        sound = sound && now - last < gap;
      }
      const std::uint64_t first = fabscope::now_ticks(clock);
      {
        fabscope::scope one{"tail"_name, i, 7};
        asm volatile("" : : : "memory");
      }
      const std::uint64_t second = fabscope::now_ticks(clock);
      now = fabscope::now_ticks(clock);
      if (undisturbed && !sound) continue;
      kept.push_back(second - first);
      empty.push_back(now - second);
    }
    if (preemptions() != switches) {
      kept.resize(before);
      empty.resize(before);
    }
  }
  std::sort(kept.begin(), kept.end());
  std::sort(empty.begin(), empty.end());
  if (kept.empty()) return {};
  const auto at = [&](std::size_t percent) {
    return static_cast<double>(kept[kept.size() * percent / 100] - empty[empty.size() / 2]) *
           ns_per_tick;
  };
  return {at(99), at(50)};
}

[[gnu::noinline]] void empty_scope() {
  const fabscope::basic_scope<fabscope::null_recorder> one{"nothing"_name, 1, 2};
}

/// Bytes of machine code before the return of a function whose only statement is such a scope.
/// tests/hygiene/null_scope.py looks at more of them, with both compilers.
figures bytes_before_return(double) {
  unsigned char code[8];
  void (*const function)() = &empty_scope;
  std::memcpy(code, reinterpret_cast<const void*>(function), sizeof code);
#if defined(__x86_64__)
  constexpr unsigned char branch_target[4] = {0xf3, 0x0f, 0x1e, 0xfa};  // a mark, not an operation
  const unsigned char* at = code;
  if (std::memcmp(at, branch_target, 4) == 0) at += 4;
  const bool returns = *at == 0xc3;
#elif defined(__aarch64__)
  constexpr unsigned char ret[4] = {0xc0, 0x03, 0x5f, 0xd6};
  const bool returns = std::memcmp(code, ret, 4) == 0;
#else
  const bool returns = false;
#endif
  return {returns ? 0.0 : 1.0, 0};
}

}  // namespace

void add_scope_rows() {
  using fabscope::level;
  add_with_threads("scope_enabled", 1.10,
                   in_session({scopes<ring_only>("scope"), two_reads()}, level::count));
  add_with_threads("scope_aggregated", 1.20,
                   in_session({scopes<fabscope::scope>("scope"), two_reads()}, level::count));
  add_with_threads("scope_chained", 0.62,
                   in_session({boundaries<ring_only_phases>(), two_reads()}, level::count));
  row chained_and_summed = in_session({boundaries<fabscope::phases>(), two_reads()}, level::count);
  chained_and_summed.name = "scope_chained/aggregated";
  rows().push_back(chained_and_summed);
  // What LTTng-UST costs for the same: a begin and an end tracepoint with the same two numbers,
  // into rings that overwrite; and its tracepoints that are off.
  const auto why = [] { return lttng::absent(); };
  row traced{"scope_enabled/lttng_ust", "two bare clock reads", 0};
  traced.lanes = {{"pair", [](std::size_t n, unsigned) { lttng::enabled(n); }}, two_reads()};
  traced.absent = why;
  rows().push_back(traced);
  row untraced{"scope_disabled/lttng_ust", "two bare clock reads", 0};
  untraced.lanes = {{"pair", [](std::size_t n, unsigned) { lttng::disabled(n); }}, two_reads()};
  untraced.absent = why;
  rows().push_back(untraced);
  row off = in_session({scopes<fabscope::scope>("scope"), two_reads()}, level::record, false);
  off.name = "scope_disabled";
  off.budget = 0.04;
  rows().push_back(off);
  row null{"scope_null", "no code before return", 1e-9};
  null.measure = bytes_before_return;
  null.unit = "instr";
  rows().push_back(null);
  row tails{"scope_tail", "p50; ours is p99", 2};
  tails.measure = [](double seconds) { return tail(seconds, true); };
  rows().push_back(tails);
  row all_tails{"scope_tail/with_interruptions", "p50; cost is p99", 0};
  all_tails.measure = [](double seconds) { return tail(seconds, false); };
  rows().push_back(all_tails);
}

}  // namespace bench
