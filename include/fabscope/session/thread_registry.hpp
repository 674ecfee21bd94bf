// SPDX-License-Identifier: Apache-2.0
// The threads that record: their rings, their memory, and who takes them over when they end.
// Layer: session.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fabscope/core/word_access.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/segment.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Slots of threads in the segment. A slot that a thread has left is given to a later thread
/// together with its ring and its tables, so that memory follows the largest number of threads at
/// one time, and sums go on. Threads: one at a time (the session's lock), except where said.
template <word_accessor Access = word_access>
class basic_thread_registry {
 public:
  void start(segment& memory, std::uint32_t ring_slots) noexcept {
    segment_ = &memory;
    ring_slots_ = ring_slots;
  }

  /// A slot for the calling thread; null if there is none left.
  fabscope_thread* attach() noexcept {
    segment_format::base& base = segment_->base();
    segment_format::thread_entry* entry = take_free(base);
    if (entry == nullptr) entry = add(base);
    if (entry == nullptr) {
      ++base.head.threads_refused;
      return nullptr;
    }
    Access::relaxed_store(entry->tid, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    read_name(entry->name);
    Access::relaxed_store(entry->state,
                          static_cast<std::uint32_t>(segment_format::thread_state::live));
    return &entry->live;
  }

  /// The calling thread will record no more.  Threads: that thread, without the lock.
  void detach(fabscope_thread* thread) noexcept {
    thread->cause = 0;
    thread->scopes = thread->scopes >> 32 << 32;
    Access::release_store(segment_->base().threads[thread->id].state,
                          static_cast<std::uint32_t>(segment_format::thread_state::ended));
  }

  /// Gives ended threads' slots back once their records have been read, or at once where nobody
  /// reads.
  void reclaim(bool records_are_read) noexcept {
    segment_format::base& base = segment_->base();
    for (std::uint32_t i = 0; i < base.head.threads.count; ++i) {
      segment_format::thread_entry& entry = base.threads[i];
      if (Access::acquire_load(entry.state) !=
          static_cast<std::uint32_t>(segment_format::thread_state::ended)) {
        continue;
      }
      if (records_are_read && entry.next != Access::acquire_load(entry.head)) continue;
      Access::relaxed_store(entry.state,
                            static_cast<std::uint32_t>(segment_format::thread_state::free));
    }
  }

  /// See fabscope_table::memory.
  void* memory(fabscope_thread* thread, const void* key, std::uint32_t type,
               std::uint32_t count) noexcept {
    const std::uint32_t owner = thread == nullptr ? segment_format::no_thread : thread->id;
    for (const piece& known : pieces_) {
      if (known.thread == owner && known.key == key && known.type == type && known.count >= count) {
        return known.at;
      }
    }
    void* at = nullptr;
    if (type != 0) {
      at = segment_->add_block(type, owner, count);
    } else if (::posix_memalign(&at, 64, count) == 0) {
      std::memset(at, 0, count);
    } else {
      at = nullptr;
    }
    if (at != nullptr) pieces_.push_back({key, at, owner, type, count});
    return at;
  }

 private:
  static constexpr std::uint64_t first_scope = std::uint64_t{1} << 32;  // number 1, none open

  struct piece {
    const void* key;
    void* at;
    std::uint32_t thread;
    std::uint32_t type;
    std::uint32_t count;
  };

  static segment_format::thread_entry* take_free(segment_format::base& base) noexcept {
    for (std::uint32_t i = 0; i < base.head.threads.count; ++i) {
      segment_format::thread_entry& entry = base.threads[i];
      if (Access::relaxed_load(entry.state) ==
          static_cast<std::uint32_t>(segment_format::thread_state::free)) {
        return &entry;
      }
    }
    return nullptr;
  }

  segment_format::thread_entry* add(segment_format::base& base) noexcept {
    segment_format::table& threads = base.head.threads;
    if (threads.count == threads.capacity) return nullptr;
    const segment::place ring = segment_->append(std::uint64_t{ring_slots_} * sizeof(slot_line));
    if (ring.at == nullptr) return nullptr;
    segment_format::thread_entry& entry = base.threads[threads.count];
    entry.ring_offset = ring.offset;
    entry.ring_mask = ring_slots_ - 1;
    entry.live = {&entry.head, ring.at, ring_slots_ - 1, 0, first_scope, threads.count, 0};
    Access::release_store(threads.count, threads.count + 1);
    return &entry;
  }

  static void read_name(char (&name)[16]) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%ld/comm", ::syscall(SYS_gettid));
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t size = ::read(fd, name, sizeof name - 1);
    ::close(fd);
    name[size > 0 ? size - 1 : 0] = '\0';
  }

  segment* segment_ = nullptr;
  std::uint32_t ring_slots_ = 0;
  std::vector<piece> pieces_;
};
using thread_registry = basic_thread_registry<>;

}  // namespace detail

FABSCOPE_NAMESPACE_END
