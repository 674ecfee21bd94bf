// SPDX-License-Identifier: Apache-2.0
// Value or error of a set-up function. Layer: core.
#pragma once

#include <cstdint>
#include <utility>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Why a set-up function said no.
enum class errc : std::uint8_t {
  ok,
  invalid_argument,  ///< a value outside what is allowed
  unavailable,       ///< the machine, library or file system does not offer it
  no_space,          ///< memory, file system or table is full
  no_permission,
  corrupt,  ///< a file that is not what it says it is
  io,       ///< any other system error
};

/// The enumerator's name.
constexpr const char* to_string(errc code) noexcept {
  switch (code) {
    case errc::ok: return "ok";
    case errc::invalid_argument: return "invalid argument";
    case errc::unavailable: return "unavailable";
    case errc::no_space: return "no space";
    case errc::no_permission: return "no permission";
    case errc::corrupt: return "corrupt";
    case errc::io: return "input/output error";
  }
  return "unknown";
}

/// A value, or the reason why there is none. T is default-constructible: without a value it is T{}.
/// Always this type and never std::expected, so that a public signature does not follow the
/// consumer's language standard.
template <class T>
class [[nodiscard]] FABSCOPE_VISIBLE result {
 public:
  FABSCOPE_HIDDEN constexpr result(T value) noexcept : value_(std::move(value)) {}
  FABSCOPE_HIDDEN constexpr result(errc code) noexcept : error_(code) {}

  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool has_value() const noexcept {
    return error_ == errc::ok;
  }
  FABSCOPE_HIDDEN constexpr explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr errc error() const noexcept { return error_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr T& value() noexcept { return value_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr const T& value() const noexcept { return value_; }
  FABSCOPE_HIDDEN constexpr T& operator*() noexcept { return value_; }
  FABSCOPE_HIDDEN constexpr const T& operator*() const noexcept { return value_; }
  FABSCOPE_HIDDEN constexpr T* operator->() noexcept { return &value_; }
  FABSCOPE_HIDDEN constexpr const T* operator->() const noexcept { return &value_; }

 private:
  T value_{};
  errc error_ = errc::ok;
};

FABSCOPE_NAMESPACE_END
