// SPDX-License-Identifier: Apache-2.0
// fabscope-nic: samples NIC counters by itself, into a table, lines or a file.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fabscope/clock/steady_clock.hpp>
#include <utility>

#include "nic_options.hpp"
#include "nic_print.hpp"
#include "nic_sampling.hpp"

namespace {

/// True if one of the signals came within this time.
bool signal_comes(const sigset_t& signals, std::uint64_t within_ns) {
  const timespec pause{static_cast<time_t>(within_ns / 1'000'000'000),
                       static_cast<long>(within_ns % 1'000'000'000)};
  return ::sigtimedwait(&signals, nullptr, &pause) > 0;
}

}  // namespace

int main(int count, char** arguments) {
  const nictool::choices chosen = nictool::read_arguments(count, arguments);
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  fabscope::nic::sweep what = nictool::open_counters(chosen);
  if (chosen.list) {
    nictool::print_list(what, terminal);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  if (what.columns().empty()) {
    std::fprintf(stderr, "fabscope-nic: no counter of these NICs can be read: see --list\n");
    return 1;
  }
  // Taken where they are waited for: a handler would have nothing to do.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, one);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads the lines may leave: the file is finished

  nictool::sampling run(chosen, std::move(what));
  if (!run.start()) {
    std::fprintf(stderr, "fabscope-nic: no memory, or no thread\n");
    return 1;
  }
  const bool table = chosen.csv != "-";
  const std::uint64_t begin = fabscope::monotonic_ns();
  const auto duration = static_cast<std::uint64_t>(chosen.duration_s * 1e9);
  const std::uint64_t second = 1'000'000'000;
  const std::uint64_t interval = std::uint64_t{chosen.interval_ms} * 1'000'000;
  const std::uint64_t show_every = interval > second ? interval : second;
  std::uint64_t next_show = begin + show_every;
  for (;;) {
    std::uint64_t pause = 50'000'000;
    const std::uint64_t passed = fabscope::monotonic_ns() - begin;
    if (duration != 0 && passed >= duration) break;
    if (duration != 0 && duration - passed < pause) pause = duration - passed;
    const bool ends = signal_comes(signals, pause);
    run.drain();
    if (ends || run.fails()) break;
    const std::uint64_t now = fabscope::monotonic_ns();
    if (!table || now < next_show) continue;
    next_show += (1 + (now - next_show) / show_every) * show_every;
    nictool::print_rates(run, now, terminal);
    if (std::ferror(stdout) != 0) break;
  }
  const bool whole = run.stop();
  nictool::print_totals(run, table ? stdout : stderr);
  return whole ? 0 : 1;
}
