// SPDX-License-Identifier: Apache-2.0
// Scopes and steps through the C table, for languages without destructors. Layer: session.
#pragma once

#include <cstdint>
#include <cstring>

#include <fabscope/scope/port.hpp>
#include <fabscope/scope/recorder.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Scopes that one thread has pushed and not yet popped, and its current step.
struct pushed_scopes {
  static constexpr std::uint32_t capacity = 64;
  std::uint32_t depth;  ///< may exceed capacity: those are not recorded
  std::uint32_t in_step;
  std::uint64_t step_begin;
  std::int64_t step_number;
  session_recorder<true>::token open[capacity];
};

inline constexpr char pushed_scopes_key = 0;

/// The calling thread's, as long as a session runs, whether or not it records now: every push has
/// its pop. Null if there is none.
inline pushed_scopes* pushed(thread_port*& port) noexcept {
  const std::uint32_t mask = current_mask();
  port = session_number(mask) == 0 ? nullptr : port_for(mask);
  if (port == nullptr) return nullptr;
  if (port->pushed == nullptr) {
    auto* made = static_cast<pushed_scopes*>(
        port->table->memory(port->thread, &pushed_scopes_key, 0, sizeof(pushed_scopes)));
    if (made == nullptr) return nullptr;
    made->depth = 0;  // what an earlier thread left open stays unrecorded
    made->in_step = 0;
    port->pushed = made;
  }
  return static_cast<pushed_scopes*>(port->pushed);
}

inline bool recording_now() noexcept { return (current_mask() & recording_scopes) != 0; }

/// A scope without a name is not recorded, and has its pop.
inline void c_push(const char* name) noexcept {
  thread_port* port = nullptr;
  pushed_scopes* stack = pushed(port);
  if (stack == nullptr) return;
  const std::uint32_t at = stack->depth++;
  if (at >= pushed_scopes::capacity) return;
  stack->open[at].port = nullptr;
  if (name == nullptr || !recording_now()) return;
  const std::uint64_t label = port->table->label(name, std::strlen(name));
  const std::uint64_t domain =
      port->table->label(default_domain::name, std::strlen(default_domain::name));
  stack->open[at] = session_recorder<true>::begin_labelled(*port, domain << 32 | label);
}

inline void c_pop(std::uint64_t bytes, std::int64_t value) noexcept {
  thread_port* port = nullptr;
  pushed_scopes* stack = pushed(port);
  if (stack == nullptr || stack->depth == 0) return;
  const std::uint32_t at = --stack->depth;
  if (at < pushed_scopes::capacity) session_recorder<true>::end(stack->open[at], bytes, value);
}

/// Ends the thread's current step and begins the next one.
inline void c_step(std::int64_t number) noexcept {
  thread_port* port = nullptr;
  pushed_scopes* stack = pushed(port);
  if (stack == nullptr) return;
  const bool recorded = recording_now();
  const std::uint64_t now = now_ticks(port->clock);
  if (stack->in_step != 0 && recorded) {
    step_record record;
    record.header.type = port->step_type;
    record.header.ticks = stack->step_begin;
    record.end = now;
    record.number = stack->step_number;
    port->push(record);
  }
  stack->in_step = recorded ? 1 : 0;
  stack->step_begin = now;
  stack->step_number = number;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
