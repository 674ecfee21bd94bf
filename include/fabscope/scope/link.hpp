// SPDX-License-Identifier: Apache-2.0
// Finds the process's session, whichever copy of the library owns it. Layer: scope.
//
// Each module that contains fabscope carries an ELF note that leads to its anchor. Notes are found
// by dl_iterate_phdr, which works with hidden symbols, without -rdynamic and under RTLD_LOCAL.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fabscope/core/abi.hpp>
#include <fabscope/core/config.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What is on. The low 16 bits of the session's mask; the high 16 bits number the session, so that
/// whoever cached something for another session notices with the same load.
enum recording : std::uint32_t {
  recording_scopes = 1,
  recording_fabric = 2,
  recording_collectives = 4,
};

/// The session's number within the process, from the mask.
constexpr std::uint32_t session_number(std::uint32_t mask) noexcept { return mask >> 16; }

namespace detail {

inline constexpr std::uint64_t anchor_magic = 0x45504f4353424146;  // "FABSCOPE", little endian
inline constexpr std::uint32_t note_type = 1;

/// Nothing is on: no session runs.
inline constinit const std::uint32_t mask_off = 0;
/// Everything seems on, in a session that no thread has a port for, so that the first use asks.
inline constinit const std::uint32_t mask_ask = 0xffffffff;
inline constexpr std::uint32_t last_session_number = 0xfffe;

/// Defined by session/session.hpp. Null in a module in which no translation unit includes that.
[[gnu::weak]] const fabscope_table* start_here(const fabscope_start*) __asm__(
    "fabscope_start_" FABSCOPE_VERSION_STRING);

/// The anchor of this module's copy.
[[gnu::used]] inline constinit fabscope_anchor anchor __asm__(
    "fabscope_anchor_" FABSCOPE_VERSION_STRING) = {anchor_magic,
                                                   FABSCOPE_ABI,
                                                   sizeof(fabscope_anchor),
                                                   FABSCOPE_VERSION_STRING,
                                                   &mask_ask,
                                                   nullptr,
                                                   &start_here,
                                                   0,
                                                   0};

// One note per translation unit, all leading to the module's one anchor.
__asm__(
    ".pushsection .note.fabscope,\"a\",%note\n"
    ".balign 4\n"
    ".long 9\n"
    ".long 8\n"
    ".long 1\n"
    ".asciz \"fabscope\"\n"
    ".balign 4\n"
    ".quad \"fabscope_anchor_" FABSCOPE_VERSION_STRING
    "\" - .\n"
    ".popsection\n");

/// Anchors in link order.
struct anchor_list {
  static constexpr std::size_t capacity = 256;
  fabscope_anchor* item[capacity];
  std::size_t size = 0;

  void add(fabscope_anchor* found) noexcept {
    if (found->magic != anchor_magic || found->abi != FABSCOPE_ABI) return;
    for (std::size_t i = 0; i < size; ++i) {
      if (item[i] == found) return;
    }
    if (size < capacity) item[size++] = found;
  }
};

/// Reads one segment of notes.
inline void read_notes(const char* at, std::size_t left, std::size_t align,
                       anchor_list& list) noexcept {
  const auto padded = [align](std::size_t n) { return (n + align - 1) & ~(align - 1); };
  while (left >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const std::size_t name_at = sizeof note;
    const std::size_t data_at = name_at + padded(note.n_namesz);
    const std::size_t whole = data_at + padded(note.n_descsz);
    if (whole > left || whole < data_at) return;
    if (note.n_type == note_type && note.n_namesz == 9 && note.n_descsz == 8 &&
        std::memcmp(at + name_at, "fabscope", 9) == 0) {
      std::int64_t distance;
      std::memcpy(&distance, at + data_at, sizeof distance);
      const auto address = reinterpret_cast<std::intptr_t>(at + data_at) + distance;
      list.add(reinterpret_cast<fabscope_anchor*>(address));
    }
    at += whole;
    left -= whole;
  }
}

/// All copies in this process, the executable's first.
/// Threads: any; takes the loader's lock. Cost: tens of microseconds, never on a hot path.
inline anchor_list find_anchors() noexcept {
  anchor_list list;
  ::dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* out) {
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const auto& part = module->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          read_notes(reinterpret_cast<const char*>(module->dlpi_addr + part.p_vaddr), part.p_memsz,
                     part.p_align == 8 ? 8 : 4, *static_cast<anchor_list*>(out));
        }
        return 0;
      },
      &list);
  return list;
}

/// The running session's table, or null. Remembers the answer for this module.
FABSCOPE_NOINLINE inline const fabscope_table* find_session() noexcept {
  const fabscope_table* mine = __atomic_load_n(&anchor.table, __ATOMIC_ACQUIRE);
  if (mine != nullptr) return mine;
  const anchor_list list = find_anchors();
  for (std::size_t i = 0; i < list.size; ++i) {
    const fabscope_table* table = __atomic_load_n(&list.item[i]->table, __ATOMIC_ACQUIRE);
    if (table == nullptr) continue;
    __atomic_store_n(&anchor.table, table, __ATOMIC_RELEASE);
    __atomic_store_n(&anchor.mask, table->mask, __ATOMIC_RELEASE);
    return table;
  }
  // A session that starts meanwhile has stored its mask here: then this exchange fails, as it
  // should.
  const std::uint32_t* expected = &mask_ask;
  __atomic_compare_exchange_n(&anchor.mask, &expected, &mask_off, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return nullptr;
}

/// The first copy in link order that can own a session, or null.
FABSCOPE_NOINLINE inline const fabscope_anchor* first_owner() noexcept {
  const anchor_list list = find_anchors();
  for (std::size_t i = 0; i < list.size; ++i) {
    if (list.item[i]->start != nullptr) return list.item[i];
  }
  return nullptr;
}

/// The session's table after starting one where none runs: in the first copy in link order that can
/// own one. Null if none can.
FABSCOPE_NOINLINE inline const fabscope_table* ensure_session(std::uint32_t level,
                                                              const char* who) noexcept {
  if (const fabscope_table* running = find_session()) return running;
  const fabscope_anchor* owner = first_owner();
  const fabscope_start how{sizeof(fabscope_start), level, who};
  if (owner == nullptr || owner->start(&how) == nullptr) return nullptr;
  return find_session();
}

/// What is on now. Cost: two loads.
FABSCOPE_ALWAYS_INLINE std::uint32_t current_mask() noexcept {
  return __atomic_load_n(__atomic_load_n(&anchor.mask, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED);
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
