// SPDX-License-Identifier: Apache-2.0
// Operations that wait to be written, in few bytes each. Layer: sink.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fabscope/event/operation_record.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// A queue of records, first in, first out. What is the same for all operations of a kind between
/// two addresses stands once, in a table that both ends keep alike; of an operation there are the
/// time since the one before, its span, and what differs from its kind's last: 6 to 14 bytes.
/// Threads: one.  Errors: put() says false where there is no memory, or no more allowed; nothing is
/// lost then.  Cost: 48 bytes per kind, up to 768 KiB; 64 KiB steps with the queue's length.
class FABSCOPE_VISIBLE operation_spool {
 public:
  static constexpr std::size_t chunk_bytes = 65536;

  FABSCOPE_HIDDEN explicit operation_spool(std::uint64_t limit) noexcept
      : limit_(limit < chunk_bytes ? chunk_bytes : limit) {}
  FABSCOPE_HIDDEN ~operation_spool() {
    while (first_ != nullptr) drop_first();
    std::free(spare_);
    std::free(kinds_);
  }
  operation_spool(const operation_spool&) = delete;
  operation_spool& operator=(const operation_spool&) = delete;

  [[nodiscard]] FABSCOPE_HIDDEN bool empty() const noexcept { return count_ == 0; }
  /// Records in the queue, and bytes that they take.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t size() const noexcept { return count_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t bytes() const noexcept { return bytes_; }
  /// Records and bytes of them so far.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t records_total() const noexcept { return records_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t bytes_total() const noexcept { return bytes_total_; }
  /// The most memory that the queue had at one time.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t most_held() const noexcept { return most_held_; }

  FABSCOPE_HIDDEN bool put(const operation_record& record) noexcept {
    if (kinds_ == nullptr) {
      kinds_ = static_cast<kind*>(std::calloc(2 * kinds, sizeof(kind)));
      if (kinds_ == nullptr) return false;
    }
    if (last_ == nullptr || last_->used + most_per_record > room) {
      if (!add_chunk()) return false;
    }
    unsigned char* const begin = last_->data + last_->used;
    const unsigned char* const end = encode(record, begin);
    const auto used = static_cast<std::size_t>(end - begin);
    last_->used += static_cast<std::uint32_t>(used);
    bytes_ += used;
    bytes_total_ += used;
    ++records_;
    ++count_;
    return true;
  }

  /// The oldest one. Not from an empty queue.
  FABSCOPE_HIDDEN operation_record take() noexcept {
    if (first_->read == first_->used) drop_first();
    operation_record out;
    const unsigned char* const begin = first_->data + first_->read;
    const auto used = static_cast<std::size_t>(decode(out, begin) - begin);
    first_->read += static_cast<std::uint32_t>(used);
    bytes_ -= used;
    if (--count_ == 0 && first_ == last_) first_->used = first_->read = 0;
    return out;
  }

 private:
  // Of the first byte: what follows behind the number of the kind and the two times.
  enum : unsigned char {
    new_kind = 1,
    new_header = 2,
    new_parent = 4,
    has_error = 8,
    has_flags = 16,
    has_retries = 32,
    new_bytes = 64,
  };
  static constexpr std::size_t kinds = 16384;
  static constexpr std::size_t most_per_record = 1 + 2 + 6 * 10 + 24;
  static constexpr std::size_t room = chunk_bytes - 16;

  struct kind {
    std::uint32_t local;
    std::uint32_t remote;
    std::uint32_t nic;
    std::uint8_t op;
    std::uint8_t level;
    std::uint16_t known;
    std::uint64_t bytes;  // of its last operation
  };
  struct side {
    std::uint64_t header = 0;  // thread, size and type
    std::uint64_t begin = 0;
    std::uint64_t parent = 0;
  };
  struct chunk {
    chunk* next;
    std::uint32_t used;
    std::uint32_t read;
    unsigned char data[room];
  };
  static_assert(sizeof(chunk) == chunk_bytes);

  FABSCOPE_HIDDEN static std::size_t place_of(const operation_record& r) noexcept {
    std::uint64_t mixed = std::uint64_t{r.remote} << 32 | r.local;
    mixed ^=
        (std::uint64_t{r.nic} << 16 | std::uint64_t{r.op} << 8 | r.level) * 0x9E3779B97F4A7C15U;
    mixed *= 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed >> 50);  // 14 bits: two bytes
  }
  FABSCOPE_HIDDEN static bool is_of(const kind& k, const operation_record& r) noexcept {
    return k.known != 0 && k.local == r.local && k.remote == r.remote && k.nic == r.nic &&
           k.op == r.op && k.level == r.level;
  }
  FABSCOPE_HIDDEN static std::uint64_t folded(std::uint64_t difference) noexcept {
    return difference << 1 ^ (0 - (difference >> 63));
  }
  FABSCOPE_HIDDEN static std::uint64_t unfolded(std::uint64_t value) noexcept {
    return value >> 1 ^ (0 - (value & 1));
  }
  FABSCOPE_HIDDEN static unsigned char* put_number(unsigned char* at,
                                                   std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<unsigned char>(value | 0x80);
    *at++ = static_cast<unsigned char>(value);
    return at;
  }
  FABSCOPE_HIDDEN static std::uint64_t get_number(const unsigned char*& at) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned char byte = *at++;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }
  FABSCOPE_HIDDEN static std::uint64_t header_of(const operation_record& r) noexcept {
    return std::uint64_t{r.header.thread} << 32 | std::uint64_t{r.header.size} << 16 |
           r.header.type;
  }

  FABSCOPE_HIDDEN unsigned char* encode(const operation_record& r, unsigned char* at) noexcept {
    const std::size_t place = place_of(r);
    kind& of = kinds_[place];
    unsigned char what = 0;
    if (!is_of(of, r)) {
      what |= new_kind;
      of = {r.local, r.remote, r.nic, r.op, r.level, 1, 0};
    }
    const std::uint64_t header = header_of(r);
    if (header != writer_.header) what |= new_header;
    if (r.parent != writer_.parent) what |= new_parent;
    if (r.error != 0) what |= has_error;
    if (r.flags != 0) what |= has_flags;
    if (r.retries != 0) what |= has_retries;
    if (r.bytes != of.bytes) what |= new_bytes;
    *at++ = what;
    at = put_number(at, place);
    at = put_number(at, folded(r.header.ticks - writer_.begin));
    at = put_number(at, folded(r.end - r.header.ticks));
    writer_.begin = r.header.ticks;
    if ((what & new_bytes) != 0) at = put_number(at, of.bytes = r.bytes);
    if ((what & new_parent) != 0) {
      at = put_number(at, folded(r.parent - writer_.parent));
      writer_.parent = r.parent;
    }
    if ((what & has_error) != 0) at = put_number(at, static_cast<std::uint32_t>(r.error));
    if ((what & has_flags) != 0) at = put_number(at, r.flags);
    if ((what & has_retries) != 0) at = put_number(at, r.retries);
    if ((what & new_header) != 0) at = put_number(at, writer_.header = header);
    if ((what & new_kind) != 0) {
      std::memcpy(at, &of, 16);
      at += 16;
    }
    return at;
  }

  FABSCOPE_HIDDEN const unsigned char* decode(operation_record& r,
                                              const unsigned char* at) noexcept {
    const unsigned char what = *at++;
    kind& of = kinds_[kinds + get_number(at)];
    reader_.begin += unfolded(get_number(at));
    r.header.ticks = reader_.begin;
    r.end = r.header.ticks + unfolded(get_number(at));
    const std::uint64_t bytes = (what & new_bytes) != 0 ? get_number(at) : 0;
    if ((what & new_parent) != 0) reader_.parent += unfolded(get_number(at));
    r.parent = reader_.parent;
    if ((what & has_error) != 0)
      r.error = static_cast<std::int32_t>(static_cast<std::uint32_t>(get_number(at)));
    if ((what & has_flags) != 0) r.flags = static_cast<std::uint16_t>(get_number(at));
    if ((what & has_retries) != 0) r.retries = static_cast<std::uint32_t>(get_number(at));
    if ((what & new_header) != 0) reader_.header = get_number(at);
    if ((what & new_kind) != 0) {
      std::memcpy(&of, at, 16);
      of.bytes = 0;
      at += 16;
    }
    if ((what & new_bytes) != 0) of.bytes = bytes;
    r.header.thread = static_cast<std::uint32_t>(reader_.header >> 32);
    r.header.size = static_cast<std::uint16_t>(reader_.header >> 16);
    r.header.type = static_cast<std::uint16_t>(reader_.header);
    r.local = of.local;
    r.remote = of.remote;
    r.nic = of.nic;
    r.op = of.op;
    r.level = of.level;
    r.bytes = of.bytes;
    return at;
  }

  FABSCOPE_HIDDEN bool add_chunk() noexcept {
    chunk* more = spare_;
    spare_ = nullptr;
    if (more == nullptr) {
      if ((chunks_ + 1) * chunk_bytes > limit_) return false;
      more = static_cast<chunk*>(std::malloc(chunk_bytes));
      if (more == nullptr) return false;
      ++chunks_;
      if (chunks_ * chunk_bytes > most_held_) most_held_ = chunks_ * chunk_bytes;
    }
    more->next = nullptr;
    more->used = more->read = 0;
    (last_ == nullptr ? first_ : last_->next) = more;
    last_ = more;
    return true;
  }
  FABSCOPE_HIDDEN void drop_first() noexcept {
    chunk* const old = first_;
    first_ = old->next;
    if (first_ == nullptr) last_ = nullptr;
    if (spare_ == nullptr) {
      spare_ = old;
    } else {
      std::free(old);
      --chunks_;
    }
  }

  chunk* first_ = nullptr;
  chunk* last_ = nullptr;
  chunk* spare_ = nullptr;
  std::uint64_t chunks_ = 0;
  std::uint64_t limit_;
  std::uint64_t most_held_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_total_ = 0;
  std::uint64_t records_ = 0;
  kind* kinds_ = nullptr;  // of the writing end, then of the reading end
  side writer_;
  side reader_;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
