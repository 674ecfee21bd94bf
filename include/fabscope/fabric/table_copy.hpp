// SPDX-License-Identifier: Apache-2.0
// Copies of a provider's ops tables, and the way from such a copy back to our hook. Layer: fabric.
//
// A provider shares one static table among all its objects, so a table is never written but copied
// for the one object: exactly as many bytes as its `size` says, which may be fewer or more than our
// headers know. Members beyond our headers stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fabscope/core/abi.hpp>
#include <fabscope/core/config.hpp>
#include <fabscope/scope/link.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

inline constexpr std::uint64_t hook_magic = 0x4b4f4f4853424146;  // "FABSHOOK", little endian

/// What lies before a copied table. Only the stamp is known to other copies of the library.
struct table_prefix {
  table_prefix* next;
  void* hook;
  fabscope_hook_stamp stamp;
};
static_assert(sizeof(table_prefix) == 48 && offsetof(table_prefix, stamp) == 16);

/// The prefix of a table that is known to be one of ours.
template <class Table>
FABSCOPE_ALWAYS_INLINE const table_prefix& prefix_of(const Table* table) noexcept {
  return *(reinterpret_cast<const table_prefix*>(table) - 1);
}
template <class Table>
FABSCOPE_ALWAYS_INLINE const Table& original_of(const table_prefix& prefix) noexcept {
  return *static_cast<const Table*>(prefix.stamp.original);
}

enum class table_owner { provider, ours, other_copy };

/// The stamp that would lie before a table. It looks at bytes that need not belong to any object,
/// so the compiler must not know what it reads, and the address sanitizer must not look.
__attribute__((noinline, no_sanitize("address"))) inline fabscope_hook_stamp stamp_before(
    const void* table) noexcept {
  const auto* at = static_cast<const volatile std::uint64_t*>(table);
  asm("" : "+r"(at));
  return {at[-4], static_cast<std::uint32_t>(at[-3]), static_cast<std::uint32_t>(at[-3] >> 32),
          reinterpret_cast<const void*>(at[-2]), reinterpret_cast<const void*>(at[-1])};
}

/// Whose table it is. Every copy of the library puts the stamp into the page in which the table
/// begins, so that the look never leaves it.
inline table_owner owner_of(const void* table) noexcept {
  constexpr std::uintptr_t page = 4096;
  if ((reinterpret_cast<std::uintptr_t>(table) & (page - 1)) < sizeof(fabscope_hook_stamp)) {
    return table_owner::provider;
  }
  const fabscope_hook_stamp stamp = stamp_before(table);
  if (stamp.magic != hook_magic) return table_owner::provider;
  return stamp.owner == &fabscope::detail::anchor ? table_owner::ours : table_owner::other_copy;
}

/// True if the table is long enough to have the member, and has it.
template <class Table, class Function>
bool has_member(const Table* table, Function Table::*member) noexcept {
  if (table == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(table);
  const auto end = reinterpret_cast<std::uintptr_t>(&(table->*member)) + sizeof(Function);
  return table->size >= end - begin && table->*member != nullptr;
}

/// Puts ours in the place of a member that is there.
template <class Table, class Function>
void replace(Table& copy, Function Table::*member, Function ours) noexcept {
  if (has_member(&copy, member)) copy.*member = ours;
}

/// The copied tables of one object. They are kept until the object is closed, because a provider
/// may put a table back that it had before.
class table_set {
 public:
  constexpr table_set() noexcept = default;
  table_set(const table_set&) = delete;
  table_set& operator=(const table_set&) = delete;
  ~table_set() {
    while (first_ != nullptr) {
      table_prefix* next = first_->next;
      std::free(first_);
      first_ = next;
    }
  }

  /// Makes `place` point to our copy of the table it points to, unless it is null, ours already, or
  /// another copy's. `fill(copy)` replaces members. False if memory is missing: then nothing
  /// changed.
  template <class Table, class Fill>
  bool patch(Table*& place, void* hook, Fill&& fill) noexcept {
    if (place == nullptr) return true;
    const void* original = place;
    switch (owner_of(place)) {
      case table_owner::provider: break;
      case table_owner::ours:
        if (prefix_of(place).hook == hook) return true;
        original = prefix_of(place).stamp.original;  // the provider copied it from another object
        break;
      case table_owner::other_copy: return true;
    }
    Table* copy = find<Table>(original);
    if (copy == nullptr) {
      copy = add<Table>(original, hook);
      if (copy == nullptr) return false;
      fill(*copy);
    }
    __atomic_store_n(&place, copy, __ATOMIC_RELEASE);
    return true;
  }

 private:
  template <class Table>
  Table* find(const void* original) const noexcept {
    for (table_prefix* known = first_; known != nullptr; known = known->next) {
      if (known->stamp.original == original) return reinterpret_cast<Table*>(known + 1);
    }
    return nullptr;
  }
  template <class Table>
  Table* add(const void* original, void* hook) noexcept {
    const std::size_t bytes = static_cast<const Table*>(original)->size;
    void* memory = nullptr;
    if (::posix_memalign(&memory, 64, sizeof(table_prefix) + bytes) != 0) return nullptr;
    auto* prefix = static_cast<table_prefix*>(memory);
    *prefix = {first_,
               hook,
               {hook_magic, FABSCOPE_ABI, sizeof(fabscope_hook_stamp), &fabscope::detail::anchor,
                original}};
    first_ = prefix;
    std::memcpy(static_cast<void*>(prefix + 1), original, bytes);
    return reinterpret_cast<Table*>(prefix + 1);
  }

  table_prefix* first_ = nullptr;
};

/// Puts the provider's own table back where a provider copied ours into an object without a hook.
template <class Table>
void unpatch(Table*& place) noexcept {
  if (place == nullptr || owner_of(place) != table_owner::ours) return;
  place = const_cast<Table*>(static_cast<const Table*>(prefix_of(place).stamp.original));
}

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
