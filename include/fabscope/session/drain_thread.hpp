// SPDX-License-Identifier: Apache-2.0
// Reads what one thread has recorded. Layer: session.
#pragma once

#include <cstdint>
#include <span>

#include <fabscope/core/word_access.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/segment_format.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Hands the records of a thread that were not read yet to `take`, oldest first, through `lines`,
/// and notes in the thread's entry how many were read and how many were gone. Returns how full the
/// ring was, as a fraction of 256.  Threads: one at a time.
template <word_accessor Access = word_access, class Take>
std::uint32_t drain_thread(segment_format::thread_entry& thread, std::span<slot_line> lines,
                           Take&& take) noexcept {
  const basic_overwrite_reader<Access> ring(&thread.head, thread.live.slots, thread.ring_mask);
  ring_cursor cursor{thread.next, thread.read, thread.overwritten};
  // What comes while we read waits for the next round, so that a fast thread cannot keep us here.
  const std::uint64_t until = ring.head();
  const std::uint64_t fill = (until - cursor.next) * 256 / ring.capacity();
  while (cursor.next < until) {
    const std::span<slot_line> records = ring.poll(cursor, lines);
    Access::relaxed_store(thread.next, cursor.next);
    Access::relaxed_store(thread.read, cursor.read);
    Access::relaxed_store(thread.overwritten, cursor.overwritten);
    if (records.empty()) break;
    take(records);
  }
  return fill > 256 ? 256 : static_cast<std::uint32_t>(fill);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
