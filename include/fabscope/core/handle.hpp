// SPDX-License-Identifier: Apache-2.0
// A name for a pooled object that can be recognised as stale, packed into a pointer. Layer: core.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Index and generation of a slot. A generation is odd while its slot is taken, so no handle of a
/// taken slot equals null or tombstone, and a handle kept after its slot was given back differs
/// from every handle of a later owner (until 2^31 owners have come and gone).
class FABSCOPE_VISIBLE handle {
 public:
  /// The null handle: nothing was asked for, or recording is off.
  FABSCOPE_HIDDEN constexpr handle() noexcept = default;
  FABSCOPE_HIDDEN constexpr handle(std::uint32_t index, std::uint32_t generation) noexcept
      : bits_(static_cast<std::uint64_t>(generation) << 32 | index) {}

  /// Stands for an object that was refused because its pool was full.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr handle tombstone() noexcept {
    return handle(1, 0);
  }

  /// The handle in a foreign `void*`. Whatever the pointer holds, the result can be looked up
  /// safely.
  [[nodiscard]] FABSCOPE_HIDDEN static handle from_pointer(const void* pointer) noexcept {
    return from_bits(reinterpret_cast<std::uintptr_t>(pointer));
  }
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr handle from_bits(std::uint64_t bits) noexcept {
    return handle(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
  }

  [[nodiscard]] FABSCOPE_HIDDEN void* to_pointer() const noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits_));
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t index() const noexcept {
    return static_cast<std::uint32_t>(bits_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> 32);
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_null() const noexcept { return bits_ == 0; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_tombstone() const noexcept {
    return *this == tombstone();
  }
  /// Neither null nor tombstone: worth looking up.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool may_live() const noexcept {
    return (generation() & 1U) != 0;
  }

  friend constexpr bool operator==(handle, handle) noexcept = default;

 private:
  std::uint64_t bits_ = 0;
};
static_assert(sizeof(void*) == 8 && sizeof(handle) == 8);

FABSCOPE_NAMESPACE_END
