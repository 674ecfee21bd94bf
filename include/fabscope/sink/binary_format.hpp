// SPDX-License-Identifier: Apache-2.0
// Bytes of records.bin: rows of 64 bytes, each a record or a part of a note. Layer: sink.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/abi.hpp>
#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A record stands as it was in memory, with zeros behind it. What it refers to (its type, thread,
/// labels) stands in notes before it; notes about the clock say what its ticks are. A row whose
/// first 16 bits are 0 is part of a note; the first row is the head. Integers are in the byte order
/// of the machine.
namespace binary_format {

inline constexpr std::uint64_t magic = 0x3143455243534246;  // "FBSCREC1", little endian
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t byte_order = 0x01020304;
inline constexpr std::size_t max_fields = 32;

struct head_row {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t row_bytes;
  std::uint32_t byte_order;
  std::int32_t pid;
  std::int32_t rank;     ///< -1: unknown
  std::uint32_t one_in;  ///< sampled: of each name the first record and every one_in-th follow
  std::uint64_t anchor_monotonic_ns;
  std::uint64_t anchor_realtime_ns;
  char library[16];
};
static_assert(sizeof(head_row) == slot_bytes);

enum class note : std::uint16_t {
  host = 1,    ///< text: the machine
  type = 2,    ///< type_note and its fields; number: header.type of its records
  label = 3,   ///< text; number: of the label
  thread = 4,  ///< thread_note; number: header.thread of its records
  end = 5,     ///< end_note: the file is whole
  clock = 6,   ///< clock_note
};

/// Bytes [offset, offset + 48) of a note that has `size` bytes.
struct note_row {
  std::uint16_t zero;
  std::uint16_t kind;
  std::uint32_t number;
  std::uint32_t offset;
  std::uint32_t size;
  unsigned char bytes[48];
};
static_assert(sizeof(note_row) == slot_bytes);

struct field_note {
  char name[24];
  char unit[8];
  std::uint16_t offset;
  std::uint16_t count;
  std::uint8_t type;  ///< field_type
  std::uint8_t reserved[3];
};
struct type_note {
  char name[32];
  std::uint32_t bytes;
  std::uint32_t field_count;
};
struct thread_note {
  std::uint32_t tid;
  std::uint32_t reserved;
};
/// Two points of the map from ticks to CLOCK_MONOTONIC nanoseconds. Between the first points of two
/// neighbours the map is a straight line; in front of all and behind all it is a note's own line.
struct clock_note {
  std::uint64_t ticks;
  std::uint64_t ns;
  std::uint64_t later_ticks;
  std::uint64_t later_ns;
};
/// offered == rows + lost + filtered
struct end_note {
  std::uint64_t rows;
  std::uint64_t lost;
  std::uint64_t filtered;
  std::uint64_t monotonic_ns;
  std::uint64_t boottime_ns;
  std::uint64_t realtime_ns;
};
static_assert(sizeof(field_note) == 40 && sizeof(type_note) == 40 && sizeof(end_note) == 48);

}  // namespace binary_format

FABSCOPE_NAMESPACE_END
