// SPDX-License-Identifier: Apache-2.0
// The frozen C interface through which copies of the library in one process meet (docs/abi.md).
// Layer: core.
//
// Nothing below changes within one FABSCOPE_ABI: members are only appended, and who reads a table
// looks at its `size` first. Everything else in the library is hidden, versioned C++.
#pragma once

#include <cstdint>

#define FABSCOPE_ABI 1

extern "C" {

/// One member of a record or row type. `type` and `role` are fabscope::field_type and field_role.
struct fabscope_field {
  const char* name;
  const char* unit;
  std::uint16_t offset;
  std::uint16_t count;  ///< elements of an array; 1 otherwise
  std::uint8_t type;
  std::uint8_t role;
  std::uint16_t reserved;
};

/// A record type (written to rings) or a row type (summed in tables), as one copy knows it.
struct fabscope_type {
  std::uint32_t size;  ///< sizeof(fabscope_type) of the writer
  std::uint32_t bytes;
  const char* name;
  const fabscope_field* fields;
  std::uint32_t field_count;
  std::uint32_t is_row;
};

/// What a recording thread writes to. Only that thread writes; `*head` and the slots lie in the
/// segment.
struct fabscope_thread {
  std::uint64_t* head;  ///< number of the next record
  void* slots;          ///< mask + 1 slots of 64 bytes
  std::uint64_t mask;
  std::uint64_t cause;  ///< what the thread is doing (fabscope::cause), 0 if nothing was said
  std::uint64_t
      scopes;  ///< number of the next scope, whichever copy begins it, << 32 | open scopes
  std::uint32_t id;
  std::uint32_t reserved;
};

/// A part that wants to be called by the collector thread: an adapter, a sampler.
struct fabscope_client {
  std::uint32_t size;
  std::uint32_t reserved;
  const char* name;
  void* self;
  void (*tick)(void* self);    ///< every period, one call at a time
  void (*finish)(void* self);  ///< once, before the last records are read
};

/// How a copy asks another to start the process's session.
struct fabscope_start {
  std::uint32_t size;
  std::uint32_t level;  ///< fabscope::level to use when FABSCOPE does not say
  const char* who;
};

/// The process's session as every copy sees it. All functions may be called from any thread, lock
/// internally, and are not for the hot path.
struct fabscope_table {
  std::uint32_t abi;
  std::uint32_t size;
  const std::uint32_t* mask;  ///< what is on now, fabscope::recording bits; changes while running
  std::uint32_t clock;        ///< fabscope::clock_kind of every stamp
  std::uint32_t level;
  const char* version;  ///< of the owning copy
  /// Registers a type and returns its number, the same for the same layout; 0 if there is no room.
  std::uint32_t (*type)(const fabscope_type*);
  /// Interns a text of at most 255 bytes (longer ones are cut); 0 if there is no room.
  std::uint32_t (*label)(const char* text, std::uint64_t length);
  /// The calling thread's ring; null if no more threads can record (counted).
  fabscope_thread* (*thread)(void);
  /// Zeroed memory that belongs to `thread` (or, null, to the process) under `key`, the same at
  /// each call with the same key and type: `count` rows of `type` in the segment, or `count`
  /// private bytes for type 0. It is inherited, with its contents, by a later thread. Null if there
  /// is no room.
  void* (*memory)(fabscope_thread* thread, const void* key, std::uint32_t type,
                  std::uint32_t count);
  /// Calls the client until the session ends; 0 if there is no room or the session has ended.
  std::uint32_t (*client)(const fabscope_client*);
  /// Ticks of the session's clock in CLOCK_MONOTONIC nanoseconds.
  std::uint64_t (*to_ns)(std::uint64_t ticks);
  /// Hands everything recorded so far to the sinks and flushes them.
  void (*flush)(void);
  void (*push)(const char* name);
  void (*pop)(std::uint64_t bytes, std::int64_t value);
  void (*step)(std::int64_t number);
};

/// One copy of the library. An ELF note in every module that contains one points here.
struct fabscope_anchor {
  std::uint64_t magic;
  std::uint32_t abi;
  std::uint32_t size;
  const char* version;
  const std::uint32_t* mask;    ///< where this copy's scopes look; set by the session that starts
  const fabscope_table* table;  ///< null while no session runs
  /// Starts the process's session in this copy (or returns the running one). Null: cannot own one.
  const fabscope_table* (*start)(const fabscope_start*);
  std::uint32_t last_session;  ///< highest session number seen: numbers are never used twice
  std::uint32_t reserved;
};

/// Lies before every ops table that a copy puts into a libfabric object.
struct fabscope_hook_stamp {
  std::uint64_t magic;
  std::uint32_t abi;
  std::uint32_t size;
  const void* owner;     ///< the anchor of the copy that patched
  const void* original;  ///< the table that the provider had there
};

}  // extern "C"

static_assert(sizeof(void*) == 8, "fabscope supports 64-bit machines");
static_assert(sizeof(fabscope_field) == 24 && sizeof(fabscope_type) == 32);
static_assert(sizeof(fabscope_thread) == 48 && sizeof(fabscope_client) == 40);
static_assert(sizeof(fabscope_table) == 112 && sizeof(fabscope_anchor) == 56);
static_assert(sizeof(fabscope_hook_stamp) == 32);
