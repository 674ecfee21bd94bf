// SPDX-License-Identifier: Apache-2.0
// Samples of many counters in a bounded ring of blocks: only what changed is stored. Layer: stats.
//
// The stream of samples is cut into blocks of 4 KiB. A block's part number is 0 where it begins
// with a whole sample; a sample that is longer than a block goes on in parts 1, 2, ... A reader
// that has lost blocks goes on at the next part 0.
//
// One writer, any number of readers in any process. The writer reuses a block so: tail = 0, then
// words, bytes, head = n and tail = n, each with release order. A reader copies the words from
// first to last with acquire order, and the copy is whole if head == tail != 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What a value of a sample is. The numbers stand in blocks.
enum class sample_state : std::uint8_t {
  good = 0,
  missing = 1,  ///< it could not be read
  invalid = 2,  ///< it was read and cannot be true: all ones of a dead device, a text
  absent = 3,   ///< not read in this sample: another process has the device, or it is not its turn
};

struct nic_block_row {
  static constexpr std::size_t words = 506;
  std::uint64_t used = 0;
  std::uint64_t head = 0;  ///< number of the block in the stream, from 1; 0: nothing yet
  std::uint64_t bytes = 0;
  std::uint64_t part = 0;
  std::uint64_t first = 0;  ///< number of the first sample that begins in it
  std::uint64_t payload[words] = {};
  std::uint64_t tail = 0;  ///< as head

  static constexpr const char* type_name = "nic_block_row";
  static constexpr bool is_row = true;
  static const field fields[7];
};
inline constexpr field nic_block_row::fields[7] = {
    {"used", "", offsetof(nic_block_row, used), field_type::u64, field_role::used},
    {"head", "", offsetof(nic_block_row, head), field_type::u64, field_role::key},
    {"bytes", "B", offsetof(nic_block_row, bytes), field_type::u64, field_role::last},
    {"part", "", offsetof(nic_block_row, part), field_type::u64, field_role::last},
    {"first", "", offsetof(nic_block_row, first), field_type::u64, field_role::last},
    {"payload", "", offsetof(nic_block_row, payload), field_type::u64, field_role::last,
     nic_block_row::words},
    {"tail", "", offsetof(nic_block_row, tail), field_type::u64, field_role::last},
};
static_assert(sizeof(nic_block_row) == 4096 && summary_row<nic_block_row>);

/// One sample as it is read back. The spans are the decoder's, until the next one.
struct nic_sample {
  std::uint64_t number = 0;               ///< from 0, without gaps as the sampler counts
  std::uint64_t begin = 0;                ///< ticks before the first read
  std::uint64_t end = 0;                  ///< ticks after the last
  std::uint64_t missed = 0;               ///< ticks that were skipped before this one
  std::span<const std::uint64_t> values;  ///< as they were read; 0 or an older one where not good
  std::span<const sample_state> states;
};

namespace detail {

inline unsigned char* put_varint(unsigned char* to, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *to++ = static_cast<unsigned char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<unsigned char>(value);
  return to;
}
/// False at the end of the bytes.
inline bool get_varint(const unsigned char*& at, const unsigned char* end,
                       std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; at != end && shift < 70; shift += 7) {
    const unsigned char byte = *at++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (shift & 63);
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}
constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t code) noexcept {
  return code >> 1 ^ (0 - (code & 1));
}

/// A private array that stays where it is. Errors: null.
template <class T>
class plain_array {
 public:
  plain_array() noexcept = default;
  plain_array(const plain_array&) = delete;
  plain_array& operator=(const plain_array&) = delete;
  ~plain_array() { delete[] at_; }
  bool make(std::size_t count) noexcept {
    delete[] at_;
    at_ = new (std::nothrow) T[count]();
    size_ = at_ == nullptr ? 0 : count;
    return at_ != nullptr;
  }
  [[nodiscard]] T* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) const noexcept { return at_[i]; }

 private:
  T* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Appends samples.  Threads: one.  Progress: wait-free; nothing is allocated after start().
/// Cost: a few nanoseconds per column, and two bytes or more per column that has changed.
class FABSCOPE_VISIBLE sample_writer {
 public:
  FABSCOPE_HIDDEN sample_writer() noexcept = default;
  FABSCOPE_HIDDEN ~sample_writer() = default;
  sample_writer(const sample_writer&) = delete;
  sample_writer& operator=(const sample_writer&) = delete;

  /// `blocks` are zeroed rows. False: no memory.
  FABSCOPE_HIDDEN bool start(nic_block_row* blocks, std::size_t count,
                             std::size_t columns) noexcept {
    blocks_ = blocks;
    count_ = count;
    columns_ = columns;
    return blocks != nullptr && count != 0 && values_.make(columns + 1) &&
           states_.make(columns + 1) && scratch_.make(64 + columns * 16);
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t samples_total() const noexcept { return next_; }

  FABSCOPE_HIDDEN void add(std::uint64_t begin, std::uint64_t end, std::uint64_t missed,
                           const std::uint64_t* values, const sample_state* states) noexcept {
    if (next_ != 0) {
      const std::size_t bytes = encode(begin, end, missed, values, states, false);
      if (used_ + bytes <= payload_bytes) {
        append(scratch_.data(), bytes);
        finish(begin, values, states);
        return;
      }
    }
    // A reader that begins here knows no older value.
    for (std::size_t i = 0; i < columns_; ++i) values_[i] = 0;
    const std::size_t bytes = encode(begin, end, missed, values, states, true);
    for (std::size_t done = 0, part = 0; done < bytes; ++part) {
      std::size_t most = bytes - done;
      if (most > payload_bytes) most = payload_bytes;
      open_block(part);
      append(scratch_.data() + done, most);
      done += most;
    }
    finish(begin, values, states);
  }

 private:
  static constexpr std::size_t payload_bytes = nic_block_row::words * 8;

  // A whole sample repeats every column; another one those that differ from the sample before.
  FABSCOPE_HIDDEN std::size_t encode(std::uint64_t begin, std::uint64_t end, std::uint64_t missed,
                                     const std::uint64_t* values, const sample_state* states,
                                     bool whole) noexcept {
    using detail::put_varint;
    unsigned char* to = scratch_.data();
    to = put_varint(to, whole ? begin : begin - begin_);
    to = put_varint(to, end - begin);
    to = put_varint(to, missed);
    std::size_t last = 0;
    for (std::size_t i = 0; i < columns_; ++i) {
      const sample_state known = whole ? sample_state::absent : states_[i];
      const std::uint64_t before = values_[i];
      if (states[i] == known && (known != sample_state::good || values[i] == before)) continue;
      const std::uint64_t step = (i + 1 - last) << 1;  // never 0: 0 ends the sample
      last = i + 1;
      if (states[i] == sample_state::good) {
        to = put_varint(to, step);
        to = put_varint(to, detail::zigzag(values[i] - before));
      } else {
        to = put_varint(to, step | 1);
        *to++ = static_cast<unsigned char>(states[i]);
      }
    }
    *to++ = 0;
    return static_cast<std::size_t>(to - scratch_.data());
  }

  FABSCOPE_HIDDEN void open_block(std::size_t part) noexcept {
    nic_block_row& block = blocks_[number_ % count_];
    ++number_;
    release_store(block.tail, std::uint64_t{0});
    release_store(block.head, std::uint64_t{0});
    release_store(block.bytes, std::uint64_t{0});
    release_store(block.part, static_cast<std::uint64_t>(part));
    release_store(block.first, next_);
    current_ = &block;
    used_ = 0;
    fresh_ = true;
  }

  FABSCOPE_HIDDEN void append(const unsigned char* from, std::size_t bytes) noexcept {
    std::size_t at = used_;
    const std::size_t end = used_ + bytes;
    while (at < end) {
      std::uint64_t& word = current_->payload[at / 8];
      const std::size_t offset = at % 8;
      std::size_t part = 8 - offset;
      if (part > end - at) part = end - at;
      std::uint64_t value = offset == 0 ? 0 : word;
      std::memcpy(reinterpret_cast<unsigned char*>(&value) + offset, from, part);
      release_store(word, value);
      from += part;
      at += part;
    }
    used_ = end;
    release_store(current_->bytes, static_cast<std::uint64_t>(used_));
    if (!fresh_) return;
    fresh_ = false;
    release_store(current_->head, number_);
    release_store(current_->used, row_mark);
    release_store(current_->tail, number_);
  }

  FABSCOPE_HIDDEN void finish(std::uint64_t begin, const std::uint64_t* values,
                              const sample_state* states) noexcept {
    begin_ = begin;
    for (std::size_t i = 0; i < columns_; ++i) {
      if (states[i] == sample_state::good) values_[i] = values[i];
      states_[i] = states[i];
    }
    ++next_;
  }

  static constexpr std::uint64_t row_mark = 1;
  nic_block_row* blocks_ = nullptr;
  nic_block_row* current_ = nullptr;
  std::size_t count_ = 0;
  std::size_t columns_ = 0;
  std::size_t used_ = 0;
  bool fresh_ = false;
  std::uint64_t number_ = 0;  ///< of the current block
  std::uint64_t next_ = 0;    ///< number of the next sample
  std::uint64_t begin_ = 0;
  detail::plain_array<std::uint64_t> values_;
  detail::plain_array<sample_state> states_;
  detail::plain_array<unsigned char> scratch_;
};

/// Reads samples back from copies of blocks, in the order of their numbers.  Threads: one.
class FABSCOPE_VISIBLE sample_decoder {
 public:
  FABSCOPE_HIDDEN sample_decoder() noexcept = default;
  FABSCOPE_HIDDEN ~sample_decoder() = default;
  sample_decoder(const sample_decoder&) = delete;
  sample_decoder& operator=(const sample_decoder&) = delete;

  /// False: no memory.
  FABSCOPE_HIDDEN bool start(std::size_t columns) noexcept {
    return values_.make(columns + 1) && states_.make(columns + 1) && columns_of(columns);
  }

  /// The next block; visits the samples that are whole. A block whose copy is torn, or that does
  /// not go on where the one before ended, is left out; so are samples below `from`.
  template <class Visit>
  FABSCOPE_HIDDEN void block(const nic_block_row& one, std::uint64_t from, Visit&& visit) {
    if (one.head == 0 || one.head != one.tail || one.bytes > sizeof one.payload) return;
    if (open_ && one.head == last_) return rest(one, from, visit);  // it has grown since
    const bool goes_on = open_ && one.head == last_ + 1 && one.part == part_ + 1;
    if (one.part == 0) {
      number_ = one.first;
      fill_ = 0;
      whole_ = true;
    }
    open_ = goes_on || one.part == 0;
    if (!open_) return;
    last_ = one.head;
    part_ = one.part;
    done_ = 0;
    rest(one, from, visit);
  }
  /// Number of the block that was read last; 0: none. It may have grown since.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t last_block() const noexcept { return last_; }

 private:
  FABSCOPE_HIDDEN bool columns_of(std::size_t columns) noexcept {
    columns_ = columns;
    for (std::size_t i = 0; i < columns_; ++i) states_[i] = sample_state::absent;
    return held_.make(64 + columns * 16 + sizeof(nic_block_row));
  }

  template <class Visit>
  FABSCOPE_HIDDEN void rest(const nic_block_row& one, std::uint64_t from, Visit&& visit) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(one.payload);
    const auto size = static_cast<std::size_t>(one.bytes);
    if (size < done_ || fill_ + (size - done_) > held_.size()) {
      open_ = false;
      return;
    }
    std::memcpy(held_.data() + fill_, bytes + done_, size - done_);
    fill_ += size - done_;
    done_ = size;
    const unsigned char* at = held_.data();
    const unsigned char* const end = at + fill_;
    for (const unsigned char* next = at; one_sample(next, end); at = next) {
      if (number_ >= from) {
        visit(nic_sample{number_,
                         begin_,
                         end_,
                         missed_,
                         {values_.data(), columns_},
                         {states_.data(), columns_}});
      }
      ++number_;
    }
    const auto left = static_cast<std::size_t>(end - at);
    std::memmove(held_.data(), at, left);
    fill_ = left;
  }

  // Takes a sample only if all of it is there.
  FABSCOPE_HIDDEN bool one_sample(const unsigned char*& next, const unsigned char* end) noexcept {
    using detail::get_varint;
    const unsigned char* at = next;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    std::uint64_t missed = 0;
    if (!get_varint(at, end, begin) || !get_varint(at, end, length) ||
        !get_varint(at, end, missed)) {
      return false;
    }
    const unsigned char* changes = at;
    std::uint64_t step = 0;
    std::uint64_t value = 0;
    do {
      if (!get_varint(at, end, step)) return false;
      if (step != 0 && !get_varint(at, end, value)) return false;
    } while (step != 0);
    next = at;
    if (whole_) {
      for (std::size_t i = 0; i < columns_; ++i) {
        values_[i] = 0;
        states_[i] = sample_state::absent;
      }
      begin_ = 0;
      whole_ = false;
    }
    std::size_t column = 0;
    for (at = changes; get_varint(at, end, step) && step != 0;) {
      get_varint(at, end, value);
      column += static_cast<std::size_t>(step >> 1);
      if (column == 0 || column > columns_) continue;
      if ((step & 1) != 0) {
        states_[column - 1] = static_cast<sample_state>(value & 3);
      } else {
        values_[column - 1] += detail::unzigzag(value);
        states_[column - 1] = sample_state::good;
      }
    }
    begin_ += begin;
    end_ = begin_ + length;
    missed_ = missed;
    return true;
  }

  std::size_t columns_ = 0;
  std::uint64_t last_ = 0;  ///< number of the newest block
  std::uint64_t part_ = 0;
  bool open_ = false;
  bool whole_ = true;
  std::size_t done_ = 0;  ///< bytes of it that were taken
  std::size_t fill_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t missed_ = 0;
  detail::plain_array<std::uint64_t> values_;
  detail::plain_array<sample_state> states_;
  detail::plain_array<unsigned char> held_;
};

/// Visits all samples that are in `count` copies of blocks, the oldest first, whatever the order of
/// the blocks.
/// Errors: false if there is no memory.
template <class Blocks, class Visit>
bool decode_samples(const Blocks& blocks, std::size_t count, std::size_t columns, Visit&& visit) {
  sample_decoder decoder;
  if (!decoder.start(columns)) return false;
  for (std::uint64_t below = 0;;) {
    const nic_block_row* next = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      const nic_block_row& one = blocks[i];
      if (one.head > below && (next == nullptr || one.head < next->head)) next = &one;
    }
    if (next == nullptr) return true;
    below = next->head;
    decoder.block(*next, 0, visit);
  }
}

/// A copy of a block that the writer may be writing to; whole if head == tail != 0.
inline void copy_block(const nic_block_row& from, nic_block_row& to) noexcept {
  const auto* source = reinterpret_cast<const std::uint64_t*>(&from);
  auto* target = reinterpret_cast<std::uint64_t*>(&to);
  for (std::size_t i = 0; i < sizeof(nic_block_row) / 8; ++i) target[i] = acquire_load(source[i]);
}

FABSCOPE_NAMESPACE_END
