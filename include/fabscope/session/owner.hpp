// SPDX-License-Identifier: Apache-2.0
// This module's copy as the owner of the process's session. Layer: session.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstdlib>

#include <fabscope/session/c_scope.hpp>
#include <fabscope/session/engine.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

inline constinit std::uint32_t owner_mask = 0;
/// Null when no session runs in this copy, and in the child of a fork.
inline constinit engine* running_engine = nullptr;
inline constinit pthread_mutex_t owner_lock = PTHREAD_MUTEX_INITIALIZER;
inline constinit pthread_key_t thread_end_key = 0;
inline constinit bool once_per_process_done = false;
/// Every session that this copy has owned, the newest first.
inline constinit engine* all_engines = nullptr;

[[nodiscard]] inline engine* current_engine() noexcept {
  return __atomic_load_n(&running_engine, __ATOMIC_ACQUIRE);
}

/// Waits for the third of the thread's (at least four) rounds of destructors: those of others may
/// still record. The fourth belongs to run-time libraries that then cannot be used any more.
struct thread_end {
  engine* session;
  fabscope_thread* thread;
  int rounds_left = 2;
};

inline void on_thread_end(void* argument) noexcept {
  auto* end = static_cast<thread_end*>(argument);
  if (end->rounds_left-- > 0) {
    ::pthread_setspecific(thread_end_key, end);
    return;
  }
  if (end->thread != nullptr && end->session == current_engine()) {
    end->session->thread_ended(end->thread);
  }
  delete end;
}

inline fabscope_thread* attach_thread() noexcept {
  engine* session = current_engine();
  if (session == nullptr) return nullptr;
  // Every copy asks once per thread: the thread has one ring for all of them.
  auto* known = static_cast<thread_end*>(::pthread_getspecific(thread_end_key));
  if (known != nullptr && known->session == session) return known->thread;
  // A thread that found no room is told so once and for the whole session.
  fabscope_thread* thread = session->thread();
  if (known == nullptr) known = new thread_end{};
  *known = {session, thread};
  ::pthread_setspecific(thread_end_key, known);
  return thread;
}

inline constinit fabscope_table owner_table = {
    FABSCOPE_ABI,
    sizeof(fabscope_table),
    &owner_mask,
    0,
    0,
    FABSCOPE_VERSION_STRING,
    [](const fabscope_type* type) -> std::uint32_t {
      engine* session = current_engine();
      return session == nullptr ? 0 : session->type(*type);
    },
    [](const char* text, std::uint64_t length) -> std::uint32_t {
      engine* session = current_engine();
      return session == nullptr ? 0 : session->label({text, static_cast<std::size_t>(length)});
    },
    &attach_thread,
    [](fabscope_thread* thread, const void* key, std::uint32_t type, std::uint32_t count) -> void* {
      engine* session = current_engine();
      return session == nullptr ? nullptr : session->memory(thread, key, type, count);
    },
    [](const fabscope_client* client) -> std::uint32_t {
      engine* session = current_engine();
      return session != nullptr && session->client(*client) ? 1 : 0;
    },
    [](std::uint64_t ticks) -> std::uint64_t {
      engine* session = current_engine();
      return session == nullptr ? ticks : session->to_ns(ticks);
    },
    [] {
      if (engine* session = current_engine()) session->flush();
    },
    &c_push,
    &c_pop,
    &c_step,
};

/// Points every copy's anchor to the session's table, or away from it.
inline void announce(const fabscope_table* table, const std::uint32_t* mask,
                     std::uint32_t number) noexcept {
  const anchor_list list = find_anchors();
  for (std::size_t i = 0; i < list.size; ++i) {
    __atomic_store_n(&list.item[i]->last_session, number, __ATOMIC_RELAXED);
    __atomic_store_n(&list.item[i]->table, table, __ATOMIC_RELEASE);
    __atomic_store_n(&list.item[i]->mask, mask, __ATOMIC_RELEASE);
  }
}

inline std::uint32_t next_session_number() noexcept {
  std::uint32_t last = 0;
  const anchor_list list = find_anchors();
  for (std::size_t i = 0; i < list.size; ++i) {
    const std::uint32_t seen = __atomic_load_n(&list.item[i]->last_session, __ATOMIC_RELAXED);
    if (seen > last) last = seen;
  }
  return last >= last_session_number ? 1 : last + 1;
}

/// Keeps this module mapped: other copies, threads and libfabric's objects point into it.
inline void pin_module() noexcept {
  Dl_info where{};
  if (::dladdr(&anchor, &where) != 0 && where.dli_fname != nullptr) {
    ::dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

/// The child of a fork records nothing, writes nothing and owns nothing.
inline void after_fork_in_child() noexcept {
  engine* session = current_engine();
  if (session == nullptr) return;
  __atomic_store_n(&owner_mask, 0U, __ATOMIC_RELEASE);
  __atomic_store_n(&running_engine, static_cast<engine*>(nullptr), __ATOMIC_RELEASE);
  session->abandon();
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
