// SPDX-License-Identifier: Apache-2.0
// What a thread is doing, in 64 bits that fit into any record. Layer: event.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What kind of thing a cause is. The values are part of the segment format.
enum class cause_kind : std::uint8_t { none = 0, scope = 1, collective = 2, proxy_step = 3 };

/// kind (8 bits), label of its name (24 bits), and its number within the thread (32 bits).
class FABSCOPE_VISIBLE cause {
 public:
  FABSCOPE_HIDDEN constexpr cause() noexcept = default;
  FABSCOPE_HIDDEN constexpr explicit cause(std::uint64_t bits) noexcept : bits_(bits) {}
  FABSCOPE_HIDDEN constexpr cause(cause_kind kind, std::uint32_t label,
                                  std::uint32_t number) noexcept
      : bits_(std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 |
              std::uint64_t{label & 0xffffffU} << 32 | number) {}

  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr cause_kind kind() const noexcept {
    return static_cast<cause_kind>(bits_ >> 56);
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t label() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> 32) & 0xffffffU;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(bits_);
  }

 private:
  std::uint64_t bits_ = 0;
};

FABSCOPE_NAMESPACE_END
