// SPDX-License-Identifier: Apache-2.0
// Records as fast as it can until it is killed.   victim <descriptor of the page> <level>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fabscope/scope.hpp>
#include <fabscope/session.hpp>

#include "victim.hpp"

namespace {

victim::page* shared = nullptr;

void* work(void* argument) {
  const auto thread = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  victim::line& mine = shared->of[thread];
  for (std::uint64_t number = 0;; ++number) {
    // Before the record: whoever is killed now was writing this one, or has just written it.
    __atomic_store_n(&mine.next, number, __ATOMIC_SEQ_CST);
    if (!fabscope::emit(victim::make(number, thread))) {
      __atomic_store_n(&mine.refused, mine.refused + 1, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* at = ::mmap(nullptr, sizeof(victim::page), PROT_READ | PROT_WRITE, MAP_SHARED,
                    std::atoi(arguments[1]), 0);
  if (at == MAP_FAILED) return 2;
  shared = static_cast<victim::page*>(at);
  fabscope::options chosen = fabscope::options_from_environment();
  chosen.run_level =
      std::strcmp(arguments[2], "count") == 0 ? fabscope::level::count : fabscope::level::record;
  chosen.outputs = fabscope::output_none;
  chosen.ring_slots = victim::slots;
  chosen.period_ms = 1;
  fabscope::session session(chosen);
  if (session.status() != fabscope::errc::ok) return 3;
  pthread_t started[victim::threads];
  for (unsigned i = 0; i < victim::threads; ++i) {
    if (::pthread_create(&started[i], nullptr, &work, reinterpret_cast<void*>(std::uintptr_t{i})) !=
        0) {
      return 4;
    }
  }
  for (;;) ::pause();
}
