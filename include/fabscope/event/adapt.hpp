// SPDX-License-Identifier: Apache-2.0
// Reads records and rows of another layout: another version's type of the same name. Layer: event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One member to carry over.
struct field_copy {
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  std::uint16_t count = 0;
  std::uint8_t from_size = 0;
  std::uint8_t to_size = 0;
  bool is_signed = false;
};

/// How bytes of a foreign layout become a T: members are matched by name; integers may be wider or
/// narrower; what is missing stays zero.
template <class T>
class layout_adapter {
 public:
  /// `find(name)` gives the foreign field as {offset, count, type}; type field_type::none if
  /// absent.
  struct foreign_field {
    std::uint16_t offset = 0;
    std::uint16_t count = 0;
    field_type type = field_type::none;
  };

  template <class Find>
  layout_adapter(std::size_t foreign_bytes, Find&& find) noexcept : foreign_bytes_(foreign_bytes) {
    exact_ = foreign_bytes == sizeof(T);
    for (const field& own : T::fields) {
      const foreign_field other = find(std::string_view(own.name));
      const auto own_type = static_cast<field_type>(own.type);
      if (other.type != own_type || other.offset != own.offset || other.count != own.count) {
        exact_ = false;
      }
      if (!compatible(own_type, other.type)) continue;
      field_copy& step = steps_[size_++];
      step.from = other.offset;
      step.to = own.offset;
      step.count = own.count < other.count ? own.count : other.count;
      step.from_size = static_cast<std::uint8_t>(size_of(other.type));
      step.to_size = static_cast<std::uint8_t>(size_of(own_type));
      step.is_signed = other.type >= field_type::i8 && other.type <= field_type::i64;
    }
  }

  /// True if the bytes are a T as they stand.
  [[nodiscard]] bool exact() const noexcept { return exact_; }
  [[nodiscard]] std::size_t foreign_bytes() const noexcept { return foreign_bytes_; }

  /// Converts one. `from` holds foreign_bytes() bytes.
  [[nodiscard]] T convert(const unsigned char* from) const noexcept {
    T out{};
    auto* to = reinterpret_cast<unsigned char*>(&out);
    if (exact_) {
      std::memcpy(to, from, sizeof(T));
      return out;
    }
    if constexpr (event_record<T>) {
      std::memcpy(to, from, sizeof(record_header));
      out.header.size = sizeof(T);
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const field_copy& step = steps_[i];
      for (std::size_t n = 0; n < step.count; ++n) {
        move(to + step.to + n * step.to_size, step.to_size, from + step.from + n * step.from_size,
             step.from_size, step.is_signed);
      }
    }
    return out;
  }

 private:
  static constexpr bool is_integer(field_type type) noexcept {
    return type >= field_type::u8 && type <= field_type::i64;
  }
  static constexpr bool compatible(field_type own, field_type other) noexcept {
    return other != field_type::none && (own == other || (is_integer(own) && is_integer(other)));
  }
  // Little endian integers: the low bytes come first.
  static void move(unsigned char* to, std::size_t to_size, const unsigned char* from,
                   std::size_t from_size, bool is_signed) noexcept {
    const std::size_t common = to_size < from_size ? to_size : from_size;
    std::memcpy(to, from, common);
    const bool negative = is_signed && (from[from_size - 1] & 0x80U) != 0;
    if (to_size > common) std::memset(to + common, negative ? 0xff : 0, to_size - common);
  }

  std::array<field_copy, std::size(T::fields)> steps_{};
  std::size_t size_ = 0;
  std::size_t foreign_bytes_;
  bool exact_;
};

FABSCOPE_NAMESPACE_END
