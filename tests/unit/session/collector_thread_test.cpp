// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fabscope/session.hpp>
#include <set>
#include <string>

namespace {

std::set<int> threads_now() {
  std::set<int> out;
  DIR* all = ::opendir("/proc/self/task");
  REQUIRE(all != nullptr);
  while (const dirent* one = ::readdir(all)) {
    if (one->d_name[0] != '.') out.insert(std::atoi(one->d_name));
  }
  ::closedir(all);
  return out;
}

/// The line of /proc/self/task/<tid>/status that begins with `key`.
std::string status_of(int tid, const std::string& key) {
  std::FILE* file = std::fopen(("/proc/self/task/" + std::to_string(tid) + "/status").c_str(), "r");
  if (file == nullptr) return {};
  char line[512];
  std::string found;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::string(line).rfind(key, 0) == 0) found = line + key.size();
  }
  std::fclose(file);
  return found;
}

}  // namespace

TEST_CASE("session.engine: one thread, which takes no signal and may run on every processor") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  REQUIRE(::sched_setaffinity(0, sizeof all, &all) == 0);  // as far as the cpuset allows
  const int self = static_cast<int>(::syscall(SYS_gettid));
  const std::string everywhere = status_of(self, "Cpus_allowed:");
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const std::set<int> old = threads_now();
  {
    fabscope::options chosen;
    chosen.outputs = fabscope::output_none;
    fabscope::session session(chosen);
    REQUIRE(session.status() == fabscope::errc::ok);
    std::set<int> fresh = threads_now();
    for (const int tid : old) fresh.erase(tid);
    REQUIRE(fresh.size() == 1);
    const int collector = *fresh.begin();
    const unsigned long long blocked =
        std::strtoull(status_of(collector, "SigBlk:").c_str(), nullptr, 16);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGPROF, SIGALRM, SIGCHLD,
                             SIGPIPE, SIGRTMIN, SIGRTMAX}) {
      CHECK_MESSAGE((blocked >> (signal - 1) & 1) == 1, "signal ", signal);
    }
    // It chooses its processors itself, when it first runs.
    const std::uint64_t begin = fabscope::monotonic_ns();
    while (status_of(collector, "Cpus_allowed:") != everywhere &&
           fabscope::monotonic_ns() - begin < 10'000'000'000) {
      ::sched_yield();
    }
    CHECK(status_of(collector, "Cpus_allowed:") == everywhere);
  }
  CHECK(threads_now() == old);
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
}
