// SPDX-License-Identifier: Apache-2.0
// Reads records and rows of another layout: another version's type of the same name. Layer: event.
#pragma once

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

/// A member as the foreign type has it; field_type::none if it has none of that name.
struct FABSCOPE_VISIBLE foreign_field {
  std::uint16_t offset = 0;
  std::uint16_t count = 0;
  field_type type = field_type::none;
};

/// How bytes of one layout become those of another: members are matched by name; integers may be
/// wider or narrower; what is missing stays zero.
class layout_plan {
 public:
  static constexpr std::size_t max_fields = 32;
  using finder = foreign_field (*)(const void* where, std::string_view name);

  __attribute__((noinline)) layout_plan(const fabscope_type& own, std::size_t foreign_bytes,
                                        finder find, const void* where) noexcept
      : own_bytes_(own.bytes), foreign_bytes_(foreign_bytes), is_row_(own.is_row != 0) {
    exact_ = foreign_bytes == own_bytes_;
    for (std::size_t i = 0; i < own.field_count && i < max_fields; ++i) {
      const fabscope_field& mine = own.fields[i];
      const foreign_field other = find(where, mine.name);
      const auto own_type = static_cast<field_type>(mine.type);
      if (other.type != own_type || other.offset != mine.offset || other.count != mine.count) {
        exact_ = false;
      }
      if (!compatible(own_type, other.type)) continue;
      field_copy& step = steps_[size_++];
      step.from = other.offset;
      step.to = mine.offset;
      step.count = mine.count < other.count ? mine.count : other.count;
      step.from_size = static_cast<std::uint8_t>(size_of(other.type));
      step.to_size = static_cast<std::uint8_t>(size_of(own_type));
      step.is_signed = other.type >= field_type::i8 && other.type <= field_type::i64;
    }
  }

  /// True if the bytes stand as they are wanted.
  [[nodiscard]] bool exact() const noexcept { return exact_; }
  [[nodiscard]] std::size_t foreign_bytes() const noexcept { return foreign_bytes_; }

  /// `from` holds foreign_bytes() bytes, `to` has room for one of ours.
  __attribute__((noinline)) void convert(const unsigned char* from,
                                         unsigned char* to) const noexcept {
    if (exact_) {
      std::memcpy(to, from, own_bytes_);
      return;
    }
    std::memset(to, 0, own_bytes_);
    if (!is_row_) {
      record_header header;
      std::memcpy(&header, from, sizeof header);
      header.size = static_cast<std::uint16_t>(own_bytes_);
      std::memcpy(to, &header, sizeof header);
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const field_copy& step = steps_[i];
      for (std::size_t n = 0; n < step.count; ++n) {
        move(to + step.to + n * step.to_size, step.to_size, from + step.from + n * step.from_size,
             step.from_size, step.is_signed);
      }
    }
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

  field_copy steps_[max_fields] = {};
  std::size_t size_ = 0;
  std::size_t own_bytes_;
  std::size_t foreign_bytes_;
  bool is_row_;
  bool exact_;
};

/// The same to a T.
template <class T>
class layout_adapter {
 public:
  static_assert(std::size(T::fields) <= layout_plan::max_fields);
  using foreign_field = fabscope::foreign_field;

  /// `find(name)` gives the foreign field.
  template <class Find>
  layout_adapter(std::size_t foreign_bytes, const Find& find) noexcept
      : plan_(
            describe<T>(), foreign_bytes,
            [](const void* where, std::string_view name) -> foreign_field {
              return (*static_cast<const Find*>(where))(name);
            },
            &find) {}

  [[nodiscard]] bool exact() const noexcept { return plan_.exact(); }
  [[nodiscard]] std::size_t foreign_bytes() const noexcept { return plan_.foreign_bytes(); }

  [[nodiscard]] T convert(const unsigned char* from) const noexcept {
    T out{};
    plan_.convert(from, reinterpret_cast<unsigned char*>(&out));
    return out;
  }

 private:
  layout_plan plan_;
};

FABSCOPE_NAMESPACE_END
