// SPDX-License-Identifier: Apache-2.0
// The flight recorder of a thread: keeps the newest records, never refuses one. Layer: ring.
//
// The ring is memory that somebody else owns (a head word and 64-byte slots, for example in a
// mapped segment); writer and reader are views of it. Record number s lies in slot s & mask.
//
// Protocol. The writer stores the words of record s, each with release, and then head = s + 1 with
// release. A reader copies with acquire loads and looks at head again afterwards. If it saw any
// word of record s, that load synchronises with the store, before which the writer had set head to
// s: the second look gives at least s. Record s replaces record s - capacity. So a copied record r
// is intact if the second look gives head - r < capacity, and of a writer that was stopped at any
// instruction the records head - capacity + 1 to head - 1 are intact.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <fabscope/core/config.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/core/word_access.hpp>
#include <fabscope/ring/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One slot. Words beyond the record's size keep what an older record left there.
struct FABSCOPE_VISIBLE slot_line {
  alignas(64) std::uint64_t word[8];
};
static_assert(sizeof(slot_line) == 64);

/// Writes a ring.  Threads: one, against any number of readers.  Progress: wait-free.
template <word_accessor Access = word_access>
class FABSCOPE_VISIBLE basic_overwrite_writer {
 public:
  FABSCOPE_HIDDEN constexpr basic_overwrite_writer() noexcept = default;
  /// `slots` points to mask + 1 slots, a power of two and at least 2.
  FABSCOPE_HIDDEN basic_overwrite_writer(std::uint64_t* head, void* slots,
                                         std::uint64_t mask) noexcept
      : head_(head), slots_(static_cast<slot_line*>(slots)), mask_(mask) {}

  /// Stores a record over the oldest one.  Cost: one load, one store per word of the record, one
  /// for the head.
  template <slot_record Record>
  FABSCOPE_ALWAYS_INLINE void push(const Record& record) noexcept {
    std::uint64_t& head = *head_;
    const std::uint64_t number = Access::relaxed_load(head);
    store(slots_[number & mask_], record, std::make_index_sequence<sizeof(Record) / 8>());
    Access::release_store(head, number + 1);  // pairs with the acquire in overwrite_reader::head
  }

  /// The same from words in registers: a record with members smaller than a word, put together with
  /// shifts, avoids narrow stores that a wider load would have to wait for.
  template <std::unsigned_integral... Words>
    requires(sizeof...(Words) >= 1 && sizeof...(Words) <= 8 && ((sizeof(Words) == 8) && ...))
  FABSCOPE_ALWAYS_INLINE void push_words(Words... words) noexcept {
    std::uint64_t& head = *head_;
    const std::uint64_t number = Access::relaxed_load(head);
    std::uint64_t* to = slots_[number & mask_].word;
    (Access::release_store(*to++, words), ...);  // pairs with the acquire in overwrite_reader::copy
    Access::release_store(head, number + 1);
  }

  /// Records written so far, which is the number of the next one.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t written_total() const noexcept {
    return Access::relaxed_load(*head_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t capacity() const noexcept { return mask_ + 1; }

 private:
  template <class Record, std::size_t... Index>
  FABSCOPE_ALWAYS_INLINE static void store(slot_line& slot, const Record& record,
                                           std::index_sequence<Index...>) noexcept {
    (Access::release_store(slot.word[Index], word_of<Index>(record)),
     ...);  // pairs with overwrite_reader::copy
  }
  template <std::size_t Index, class Record>
  FABSCOPE_ALWAYS_INLINE static std::uint64_t word_of(const Record& record) noexcept {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(&record) + Index * 8, 8);
    return word;
  }

  std::uint64_t* head_ = nullptr;
  slot_line* slots_ = nullptr;
  std::uint64_t mask_ = 0;
};
using overwrite_writer = basic_overwrite_writer<>;

/// How far a reader is. read + overwritten always equals the distance that `next` has moved.
struct FABSCOPE_VISIBLE ring_cursor {
  std::uint64_t next = 0;         ///< number of the next record to read
  std::uint64_t read = 0;         ///< records handed out
  std::uint64_t overwritten = 0;  ///< records that were gone before they could be copied
};

/// Reads a ring while its thread writes, or after that thread's process died.
/// Threads: any number of readers, each with its own cursor.  Progress: lock-free; the writer never
/// notices.
template <word_accessor Access = word_access>
class FABSCOPE_VISIBLE basic_overwrite_reader {
 public:
  FABSCOPE_HIDDEN constexpr basic_overwrite_reader() noexcept = default;
  FABSCOPE_HIDDEN basic_overwrite_reader(const std::uint64_t* head, const void* slots,
                                         std::uint64_t mask) noexcept
      : head_(head), slots_(static_cast<const slot_line*>(slots)), mask_(mask) {}

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t head() const noexcept {
    return Access::acquire_load(*head_);  // pairs with the release in overwrite_writer::push
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t capacity() const noexcept { return mask_ + 1; }

  /// Copies the next records, oldest first, into `out` and returns those that are intact (a part of
  /// `out`); words beyond a record's size are left overs. Empty when the cursor has reached the
  /// head, or when the writer overtook every one of a few attempts; `cursor.next == head()` tells
  /// which.
  FABSCOPE_HIDDEN std::span<slot_line> poll(ring_cursor& cursor,
                                            std::span<slot_line> out) const noexcept {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const std::uint64_t seen = head();
      if (seen <= cursor.next || out.empty()) return {};
      skip_to(cursor, oldest(seen));
      std::uint64_t count = seen - cursor.next;
      if (count > out.size()) count = out.size();
      for (std::uint64_t i = 0; i < count; ++i) {
        copy(slots_[(cursor.next + i) & mask_], out[static_cast<std::size_t>(i)]);
      }
      const std::uint64_t first_intact = oldest(head());  // after the copies: see the protocol
      const std::uint64_t begin = cursor.next;
      const std::uint64_t end = begin + count;
      skip_to(cursor, first_intact < end ? first_intact : end);
      const std::uint64_t bad = cursor.next - begin;
      cursor.next = end;
      cursor.read += count - bad;
      if (bad < count) {
        return out.subspan(static_cast<std::size_t>(bad), static_cast<std::size_t>(count - bad));
      }
    }
    return {};
  }

  /// The newest records, at most capacity - 1 and at most out.size(), oldest first. `first`, if
  /// given, receives the number of the first one.
  FABSCOPE_HIDDEN std::span<slot_line> snapshot(std::span<slot_line> out,
                                                std::uint64_t* first = nullptr) const noexcept {
    ring_cursor cursor;
    const std::uint64_t seen = head();
    cursor.next = oldest(seen);
    if (seen - cursor.next > out.size()) cursor.next = seen - out.size();
    const std::span<slot_line> records = poll(cursor, out);
    if (first != nullptr) *first = cursor.next - records.size();
    return records;
  }

 private:
  // Number of the oldest record that is intact under a head.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t oldest(std::uint64_t head) const noexcept {
    return head > mask_ ? head - mask_ : 0;
  }
  FABSCOPE_HIDDEN static void skip_to(ring_cursor& cursor, std::uint64_t number) noexcept {
    if (number <= cursor.next) return;
    cursor.overwritten += number - cursor.next;
    cursor.next = number;
  }
  FABSCOPE_HIDDEN static void copy(const slot_line& from, slot_line& to) noexcept {
    for (int i = 0; i < 8; ++i)
      to.word[i] = Access::acquire_load(from.word[i]);  // pairs with store
  }

  const std::uint64_t* head_ = nullptr;
  const slot_line* slots_ = nullptr;
  std::uint64_t mask_ = 0;
};
using overwrite_reader = basic_overwrite_reader<>;

/// A flight recorder for records of one type, in memory of its own (create) or in memory it is
/// given (place, attach), for example shared between processes. Each object reads on its own, from
/// the oldest record that is still there. Threads: one writes (push); one per object reads
/// (pop_batch); any number observe. Progress: wait-free to write, lock-free to read.  Errors: what
/// was overwritten before this object read it is counted: popped_total() + overwritten_total() +
/// unread is written_total().
template <slot_record Record, word_accessor Access = word_access>
class FABSCOPE_VISIBLE overwrite_ring {
 public:
  using value_type = Record;

  /// No ring: only assigning to it and `operator bool` are allowed.
  FABSCOPE_HIDDEN constexpr overwrite_ring() noexcept = default;
  FABSCOPE_HIDDEN overwrite_ring(overwrite_ring&& other) noexcept { swap(other); }
  FABSCOPE_HIDDEN overwrite_ring& operator=(overwrite_ring&& other) noexcept {
    swap(other);
    return *this;
  }
  FABSCOPE_HIDDEN ~overwrite_ring() {
    if (owned_ != nullptr) ::operator delete (owned_, std::align_val_t{alignment});
  }

  /// A ring of at least `capacity` slots (rounded up to a power of two), of which all but one hold
  /// records, in memory of its own, which is written once so that its pages are present.
  /// Cost: one allocation.
  [[nodiscard]] FABSCOPE_HIDDEN static result<overwrite_ring> create(
      std::size_t capacity) noexcept {
    if (!allowed(capacity)) return errc::invalid_argument;
    void* memory =
        ::operator new (bytes_needed(capacity), std::align_val_t{alignment}, std::nothrow);
    if (memory == nullptr) return errc::no_space;
    overwrite_ring ring = place(memory, capacity);
    ring.owned_ = memory;
    return result<overwrite_ring>(std::move(ring));
  }

  /// Bytes that place() needs for at least `capacity` slots.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t bytes_needed(
      std::size_t capacity) noexcept {
    return sizeof(slot_line) * (1 + std::bit_ceil(capacity));
  }
  static constexpr std::size_t alignment = alignof(slot_line);

  /// A new, empty ring in given memory, which must outlive it.
  [[nodiscard]] FABSCOPE_HIDDEN static overwrite_ring place(void* memory,
                                                            std::size_t capacity) noexcept {
    std::memset(memory, 0, bytes_needed(capacity));
    return attach(memory, capacity);
  }
  /// A second view of a ring that was placed in this memory with this capacity.
  [[nodiscard]] FABSCOPE_HIDDEN static overwrite_ring attach(void* memory,
                                                             std::size_t capacity) noexcept {
    overwrite_ring ring;
    auto* lines = static_cast<slot_line*>(memory);
    const std::uint64_t mask = std::bit_ceil(capacity) - 1;
    ring.writer_ = basic_overwrite_writer<Access>(lines->word, lines + 1, mask);
    ring.reader_ = basic_overwrite_reader<Access>(lines->word, lines + 1, mask);
    ring.memory_ = memory;
    return ring;
  }
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr bool allowed(std::size_t capacity) noexcept {
    return capacity >= 2 && capacity <= (std::size_t{1} << 40) / sizeof(slot_line);
  }

  /// Stores a record over the oldest one.  Threads: the writer.
  FABSCOPE_HIDDEN void push(const Record& record) noexcept { writer_.push(record); }

  /// Copies up to out.size() records that this object has not read, oldest first, into `out`;
  /// returns how many. 0 also if the writer overtook every one of a few attempts.  Threads: the
  /// reader.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t pop_batch(std::span<Record> out) noexcept {
    slot_line lines[16];
    std::size_t count = 0;
    while (count < out.size()) {
      const std::size_t most = out.size() - count < 16 ? out.size() - count : 16;
      const auto batch = reader_.poll(cursor_, std::span<slot_line>(lines, most));
      if (batch.empty()) break;
      for (const slot_line& line : batch) std::memcpy(&out[count++], line.word, sizeof(Record));
    }
    return count;
  }

  FABSCOPE_HIDDEN explicit operator bool() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(writer_.capacity());
  }
  /// Records written so far.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t written_total() const noexcept {
    return reader_.head();
  }
  /// Records that this object handed out.  Threads: the reader.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t popped_total() const noexcept { return cursor_.read; }
  /// Records that were gone before this object read them.  Threads: the reader.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t overwritten_total() const noexcept {
    return cursor_.overwritten;
  }

 private:
  FABSCOPE_HIDDEN void swap(overwrite_ring& other) noexcept {
    std::swap(writer_, other.writer_);
    std::swap(reader_, other.reader_);
    std::swap(cursor_, other.cursor_);
    std::swap(memory_, other.memory_);
    std::swap(owned_, other.owned_);
  }

  basic_overwrite_writer<Access> writer_;
  basic_overwrite_reader<Access> reader_;
  ring_cursor cursor_;
  void* memory_ = nullptr;
  void* owned_ = nullptr;
};

FABSCOPE_NAMESPACE_END
