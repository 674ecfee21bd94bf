// SPDX-License-Identifier: Apache-2.0
// Bytes of a segment: what a process leaves in node-local memory, readable when it was killed.
// Layer: session. Format: docs/abi.md. All offsets count from the file's beginning; integers are in
// the byte order of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fabscope/clock/clock_map_data.hpp>
#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/core/abi.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace segment_format {

inline constexpr std::uint64_t magic = 0x31474553'43534246;  // "FBSCSEG1", little endian
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t max_types = 64;
inline constexpr std::uint32_t max_fields = 32;
inline constexpr std::uint32_t max_labels = 16384;
inline constexpr std::uint32_t label_bytes = 384 * 1024;
inline constexpr std::uint32_t max_threads = 1024;
inline constexpr std::uint32_t max_blocks = 8192;
inline constexpr std::uint32_t no_thread = 0xffffffff;

enum class state : std::uint32_t { starting = 0, live = 1, finished = 2 };
enum class thread_state : std::uint32_t { free = 0, live = 1, ended = 2 };

/// Where a table lies. `count` grows by one after its entry is complete.
struct table {
  std::uint64_t offset;
  std::uint32_t capacity;
  std::uint32_t count;
};

struct field_entry {
  char name[24];
  char unit[8];
  std::uint16_t offset;
  std::uint16_t count;
  std::uint8_t type;
  std::uint8_t role;
  std::uint16_t reserved;
};

/// Type n is entry n - 1; type 0 is none.
struct type_entry {
  char name[32];
  std::uint32_t bytes;
  std::uint32_t field_count;
  std::uint32_t is_row;
  std::uint32_t reserved;
  field_entry fields[max_fields];
};

/// Its thread writes line 0 and 1, the collector line 2.
struct thread_entry {
  alignas(64) fabscope_thread live;  ///< its pointers mean something only inside the process
  alignas(64) std::uint64_t head;    ///< number of the next record
  alignas(64) std::uint32_t state;   ///< thread_state
  std::uint32_t tid;
  std::uint64_t ring_offset;
  std::uint64_t ring_mask;
  std::uint64_t next;         ///< first record not yet read
  std::uint64_t read;         ///< records handed to outputs
  std::uint64_t overwritten;  ///< records gone before they were read
  char name[16];
};
static_assert(sizeof(thread_entry) == 192);

/// Rows of one type and one thread (or no_thread: the process).
struct block_entry {
  std::uint64_t offset;
  std::uint32_t type;
  std::uint32_t thread;
  std::uint32_t rows;
  std::uint32_t row_bytes;
};

/// Label n is the text from ends[n - 1] to ends[n]; label 0 is empty.
struct label_area {
  std::uint32_t ends[max_labels];
  char text[label_bytes];
};

struct header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t file_bytes;
  std::uint32_t state;
  std::int32_t pid;
  std::uint64_t
      process_start;  ///< field 22 of /proc/<pid>/stat: tells pids that are used again apart
  char library_version[16];
  char host[64];
  char job[64];
  char launcher[16];
  char command[128];
  char boot_id[40];
  std::int32_t rank;
  std::int32_t local_rank;
  std::int32_t size;
  std::uint32_t level;
  std::uint32_t clock;
  std::uint32_t threads_refused;
  std::uint64_t memory_refused;  ///< bytes of tables that found no room
  std::uint64_t labels_refused;
  clock_snapshot begin;
  clock_snapshot latest;  ///< renewed by the collector
  std::uint64_t collector_cpu_ns;
  std::uint64_t ticks_done;  ///< periods of the collector
  table types;
  table labels;
  table threads;
  table blocks;
  alignas(64) clock_map_data clock_map;
};

/// How a segment begins; rings and further blocks come behind.
struct base {
  header head;
  alignas(64) type_entry types[max_types];
  alignas(64) label_area labels;
  alignas(64) thread_entry threads[max_threads];
  alignas(64) block_entry blocks[max_blocks];
};

}  // namespace segment_format

namespace detail {
/// The text in an array of a segment, also where damage took its NUL.
template <std::size_t N>
std::string_view entry_text(const char (&text)[N]) noexcept {
  return {text, ::strnlen(text, N)};
}
}  // namespace detail

FABSCOPE_NAMESPACE_END
