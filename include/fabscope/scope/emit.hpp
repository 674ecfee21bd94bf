// SPDX-License-Identifier: Apache-2.0
// Records of the user's own types. Layer: scope.
#pragma once

#include <cstdint>

#include <fabscope/event/record.hpp>
#include <fabscope/scope/port.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {
/// session << 16 | number of Record's type in it.
template <event_record Record>
FABSCOPE_HIDDEN inline constinit std::uint32_t known_type = 0;

template <event_record Record>
FABSCOPE_NOINLINE std::uint32_t ask_type(const thread_port& port) noexcept {
  const fabscope_type type = describe<Record>();
  const std::uint32_t known = port.session << 16 | (port.table->type(&type) & 0xffffU);
  __atomic_store_n(&known_type<Record>, known, __ATOMIC_RELAXED);
  return known;
}
}  // namespace detail

/// Writes one record into the calling thread's ring. A record with header.ticks 0 is stamped now.
/// Threads: any.  Progress: wait-free.
/// Errors: false when nothing is recorded: no session, scopes off, or no room for the type or
/// thread. Cost: one store per word, and a clock read if it is to be stamped; the first use
/// registers the type.
template <event_record Record>
bool emit(Record record) noexcept {
  const std::uint32_t mask = detail::current_mask();
  if ((mask & recording_scopes) == 0) return false;
  detail::thread_port* port = detail::port_for(mask);
  if (port == nullptr) return false;
  std::uint32_t known = __atomic_load_n(&detail::known_type<Record>, __ATOMIC_RELAXED);
  if (__builtin_expect(known >> 16 != port->session, 0)) known = detail::ask_type<Record>(*port);
  if ((known & 0xffffU) == 0) return false;
  record.header.type = static_cast<std::uint16_t>(known);
  if (record.header.ticks == 0) record.header.ticks = now_ticks(port->clock);
  port->push(record);
  return true;
}

FABSCOPE_NAMESPACE_END
