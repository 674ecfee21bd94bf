// SPDX-License-Identifier: Apache-2.0
// libfabscope-c.so: what fabscope/c.h declares, over the process's session.
#include <fabscope/c.h>

#include <cstdint>
#include <fabscope/session.hpp>

namespace {

using fabscope::detail::pushed_scopes;

constinit std::uint64_t ignored_calls = 0;
constinit std::uint32_t asked = 0;

/// Calls that this thread has to take back. Kept here as well as in the session: a session may
/// start or end between a push and its pop.
thread_local constinit std::uint32_t open_here = 0;

void ignore() noexcept { __atomic_fetch_add(&ignored_calls, 1, __ATOMIC_RELAXED); }

/// The running session's table; starts one at the first call. Null if there is none.
const fabscope_table* session_table() noexcept {
  const fabscope_table* running =
      __atomic_load_n(&fabscope::detail::anchor.table, __ATOMIC_ACQUIRE);
  if (running != nullptr) return running;
  if (__atomic_exchange_n(&asked, 1, __ATOMIC_ACQ_REL) != 0) return nullptr;
  return fabscope::detail::ensure_session(static_cast<std::uint32_t>(fabscope::level::record), "c");
}

}  // namespace

#define FABSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

FABSCOPE_EXPORT void fabscope_push(const char* name) {
  if (name == nullptr || *name == '\0') name = nullptr;
  if (name == nullptr || open_here >= pushed_scopes::capacity) ignore();
  ++open_here;
  if (const fabscope_table* table = session_table()) table->push(name);
}

FABSCOPE_EXPORT void fabscope_pop(std::uint64_t bytes, std::int64_t value) {
  if (open_here == 0) return ignore();
  --open_here;
  if (const fabscope_table* table = session_table()) table->pop(bytes, value);
}

FABSCOPE_EXPORT void fabscope_step(std::int64_t number) {
  if (const fabscope_table* table = session_table()) table->step(number);
}

FABSCOPE_EXPORT void fabscope_flush() {
  if (const fabscope_table* table = session_table()) table->flush();
}

FABSCOPE_EXPORT std::uint64_t fabscope_ignored() {
  return __atomic_load_n(&ignored_calls, __ATOMIC_RELAXED);
}
