// SPDX-License-Identifier: Apache-2.0
// Reads environment variables and the numbers in them. Layer: session.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include <fabscope/core/result.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A list of "NAME=value" texts that ends with a null pointer: the process's own, or one from a
/// test. Threads: reading is safe as long as nobody calls setenv, as with getenv.
class FABSCOPE_VISIBLE environment {
 public:
  FABSCOPE_HIDDEN explicit environment(const char* const* entries) noexcept : entries_(entries) {}

  /// The process's own.
  FABSCOPE_HIDDEN static environment of_process() noexcept { return environment(::environ); }

  /// Value of a variable, or null if it is not set.
  [[nodiscard]] FABSCOPE_HIDDEN const char* get(std::string_view name) const noexcept {
    const char* value = nullptr;
    for_each([&](std::string_view one, const char* its_value) {
      if (value == nullptr && one == name) {
        value = its_value;
      }
    });
    return value;
  }

  /// The same, but an empty variable counts as not set.
  [[nodiscard]] FABSCOPE_HIDDEN const char* get_filled(std::string_view name) const noexcept {
    const char* value = get(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  /// Calls visit(std::string_view name, const char* value) for every variable.
  template <class Visit>
  FABSCOPE_HIDDEN void for_each(Visit&& visit) const {
    for (const char* const* at = entries_; at != nullptr && *at != nullptr; ++at) {
      const char* equals = std::strchr(*at, '=');
      if (equals == nullptr) {
        continue;
      }
      visit(std::string_view(*at, static_cast<std::size_t>(equals - *at)), equals + 1);
    }
  }

 private:
  const char* const* entries_;
};

/// The text without the blanks around it.
constexpr std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// An unsigned number in the given base, or, with base 0, decimal, hex ("0x10") or octal ("020").
/// Errors: invalid_argument for anything else: a sign, a blank or letter inside, 2^64 and more,
/// nothing.
constexpr result<std::uint64_t> parse_number(std::string_view text, unsigned base = 0) noexcept {
  text = trim(text);
  if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0') {
      const bool hex = text[1] == 'x' || text[1] == 'X';
      base = hex ? 16 : 8;
      text.remove_prefix(hex ? 2 : 1);
    }
  }
  if (text.empty()) {
    return errc::invalid_argument;
  }
  std::uint64_t value = 0;
  for (const char letter : text) {
    unsigned digit = 99;
    if (letter >= '0' && letter <= '9') {
      digit = static_cast<unsigned>(letter - '0');
    }
    if (letter >= 'a' && letter <= 'f') {
      digit = static_cast<unsigned>(letter - 'a') + 10;
    }
    if (letter >= 'A' && letter <= 'F') {
      digit = static_cast<unsigned>(letter - 'A') + 10;
    }
    if (digit >= base) {
      return errc::invalid_argument;
    }
    if (value > (~std::uint64_t{0} - digit) / base) {
      return errc::invalid_argument;
    }
    value = value * base + digit;
  }
  return value;
}

FABSCOPE_NAMESPACE_END
