// SPDX-License-Identifier: Apache-2.0
// What is called often allocates nothing and makes no system call, so that it can hold no lock that
// anybody has to wait for in the kernel: a thread that has recorded once forbids itself every
// system call but read, write and exit (the kernel then kills it), counts its allocations, and goes
// on.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <fabscope/fabscope.hpp>
#include <fabscope/session.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

using namespace fabscope::literals;

namespace {
thread_local bool counting = false;
std::atomic<std::uint64_t> allocations{0};
void count() {
  if (counting) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  count();
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  count();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
}

namespace {

struct object {
  std::uint64_t value;
};
struct solver {
  static constexpr const char* name = "solver";
};

/// Everything that the documents call the hot path, once.
struct work {
  fabscope::spsc_ring<std::uint64_t>& ring;
  fabscope::slot_pool<object>& pool;
  fabscope::slot_pool<object>::magazine magazine{};
  fabscope::histogram<6> times{};
  fabscope::moments moments{};
  std::uint64_t taken = 0;

  void once(std::uint64_t n) {
    const fabscope::step step{static_cast<std::int64_t>(n)};
    fabscope::scope outer{"outer"_name, n};
    {
      const fabscope::scope_in<solver> inner{"inner"_name, 8, 3};
      fabscope::attribute("number"_name, n);
    }
    {
      fabscope::phases phases{"first"_name};
      phases.next("second"_name, n);
    }
    fabscope::detached_scope detached{"detached"_name};
    detached = {};
    (void)ring.try_push(n);
    std::uint64_t out[4];
    taken += ring.pop_batch(out);
    object* one = pool.get(magazine);
    pool.put(magazine, one);
    times.record(n);
    moments.record(n);
  }
};

constexpr std::uint64_t turns = 100000;
std::atomic<int> state{0};  // 1: forbidden and going, 2: done, -1: not possible here
std::atomic<std::uint64_t> on_purpose{0};

/// From here on the calling thread is killed at its first system call but exit. (The strict mode of
/// seccomp forbids reading the processor's counter too.)
bool forbid_system_calls() {
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_exit},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_THREAD},
  };
  const sock_fprog filter{4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void* thread(void* argument) {
  work& mine = *static_cast<work*>(argument);
  for (std::uint64_t n = 0; n < 100; ++n) mine.once(n);
  counting = true;
  if (on_purpose.load() == 1) {
    void* memory = ::operator new(100);
    asm volatile("" : : "r"(memory) : "memory");  // or the compiler leaves both out
    ::operator delete(memory);
  }
  if (!forbid_system_calls()) {
    state.store(-1);
    return nullptr;
  }
  state.store(1);
  if (on_purpose.load() == 2) ::syscall(SYS_getpid);
  for (std::uint64_t n = 0; n < turns; ++n) mine.once(n);
  counting = false;
  state.store(2);
  // The thread library would make other calls than this one.
  for (;;) ::syscall(SYS_exit, 0);
}

}  // namespace

/// With one argument it allocates on purpose, with two it makes a system call, and both have to be
/// seen.
int main(int argc, char**) {
  const bool planted = argc > 1;
  fabscope::options chosen;
  chosen.outputs = fabscope::output_none;
  fabscope::session session(chosen);
  auto ring = fabscope::spsc_ring<std::uint64_t>::create(64);
  const auto pool = std::make_unique<fabscope::slot_pool<object>>();
  if (session.status() != fabscope::errc::ok || !ring ||
      pool->reserve(1024, 1) != fabscope::errc::ok) {
    std::fputs("no session, ring or pool\n", stderr);
    return 1;
  }
  if (planted) on_purpose.store(argc == 2 ? 1 : 2);
  work mine{*ring, *pool};
  pthread_t id{};
  if (::pthread_create(&id, nullptr, &thread, &mine) != 0) return 1;
  for (int waited = 0; state.load() != 2 && state.load() != -1 && waited < 2000; ++waited) {
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
    if (on_purpose.load() == 2 && waited > 50) break;
  }
  if (state.load() == -1) {
    std::puts("skipped: seccomp is not to be had here");
    return 77;
  }
  const bool finished = state.load() == 2;
  const std::uint64_t allocated = allocations.load();
  std::printf("%llu turns %s, %llu allocations\n", static_cast<unsigned long long>(turns),
              finished ? "without a system call" : "NOT finished: a system call was made",
              static_cast<unsigned long long>(allocated));
  if (planted) return on_purpose.load() == 1 ? allocated != 1 : finished;
  const bool all = mine.taken == turns + 100 && mine.times.count() == turns + 100;
  session.finish();
  const std::uint64_t produced = session.totals().produced;
  // A step, five scopes of which two are phases, and an attribute per turn.
  const bool recorded = produced == 7 * (turns + 100);
  if (!recorded) {
    std::printf("%llu records were produced\n", static_cast<unsigned long long>(produced));
  }
  return finished && allocated == 0 && all && recorded ? 0 : 1;
}
