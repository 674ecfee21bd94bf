// SPDX-License-Identifier: Apache-2.0
// Text into a caller's buffer: numbers, CSV fields, JSON strings. Layer: sink.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <fabscope/core/config.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

// The eight digits of a number below 10^8, the first in the lowest byte: pairs, then single digits
// are split off in all lanes of the word at once.
inline std::uint64_t eight_digits(std::uint32_t value) noexcept {
  std::uint64_t lanes = value / 10000 | static_cast<std::uint64_t>(value % 10000) << 32;
  const std::uint64_t hundreds = (lanes * 10486 >> 20) & 0x0000007F0000007F;  // / 100 below 10^4
  lanes = hundreds | (lanes - hundreds * 100) << 16;
  const std::uint64_t tens = (lanes * 103 >> 10) & 0x000F000F000F000F;  // / 10 below 100
  return tens | (lanes - tens * 10) << 8;
}
inline void put_word(char* to, std::uint64_t digits) noexcept {
  digits += 0x3030303030303030;  // '0' in every byte
  if constexpr (std::endian::native == std::endian::big) digits = __builtin_bswap64(digits);
  std::memcpy(to, &digits, 8);
}
inline char* put_eight(char* to, std::uint32_t value) noexcept {
  put_word(to, eight_digits(value));
  return to + 8;
}
// Decimal digits of value < 10^8. Apart from eight_digits, so that where the next field begins does
// not wait for the digits.
inline unsigned decimal_length(std::uint32_t value) noexcept {
  constexpr std::uint32_t power[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const auto guess = static_cast<unsigned>(std::bit_width(value | 1U)) * 1233 >> 12;  // log10(2)
  return guess + (value >= power[guess] ? 1U : 0U);
}
// Without leading zeros; value < 10^8. Always stores 8 characters.
inline char* put_short(char* to, std::uint32_t value) noexcept {
  const unsigned length = decimal_length(value);
  put_word(to, eight_digits(value) >> (8 * (8 - length)));
  return to + length;
}
/// Writes at most 20 characters, and may store up to 24.
inline char* put_u64(char* to, std::uint64_t value) noexcept {
  constexpr std::uint64_t e8 = 100000000;
  if (value < e8) return put_short(to, static_cast<std::uint32_t>(value));
  const std::uint64_t high = value / e8;
  const auto low = static_cast<std::uint32_t>(value - high * e8);
  if (high < e8) {
    to = put_short(to, static_cast<std::uint32_t>(high));
  } else {
    const std::uint64_t top = value / (e8 * e8);  // does not wait for `high`
    to = put_short(to, static_cast<std::uint32_t>(top));
    to = put_eight(to, static_cast<std::uint32_t>(high - top * e8));
  }
  return put_eight(to, low);
}
inline char* put_fixed3(char* to, std::uint64_t thousandths) noexcept {
  to = put_u64(to, thousandths / 1000);
  const auto rest = static_cast<std::uint32_t>(thousandths % 1000);
  to[0] = '.';
  to[1] = static_cast<char>('0' + rest / 100);
  to[2] = static_cast<char>('0' + rest / 10 % 10);
  to[3] = static_cast<char>('0' + rest % 10);
  return to + 4;
}

template <std::unsigned_integral Word>
FABSCOPE_ALWAYS_INLINE Word load_word(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
// True if some byte is a comma or smaller, and perhaps if it is 0x80 or larger.
template <std::unsigned_integral Word>
FABSCOPE_ALWAYS_INLINE bool may_need_quotes(Word word) noexcept {
  constexpr Word ones = static_cast<Word>(~Word{0}) / 0xFF;
  return ((word - ones * (',' + 1)) & (ones << 7)) != 0;
}
FABSCOPE_NOINLINE inline bool is_plain_by_bytes(std::string_view field) noexcept {
  for (const char c : field) {
    if (c == ',' || c == '"' || c == '\n' || c == '\r') return false;
  }
  return field.empty() || (field.front() != ' ' && field.back() != ' ');
}
// Both of these take names of 4 to 16 characters as two words that may overlap.
FABSCOPE_ALWAYS_INLINE bool is_plain_csv(std::string_view field) noexcept {
  const char* const from = field.data();
  const std::size_t size = field.size();
  if (size == 0) return true;
  if (size >= 8 && size <= 16) {
    const bool doubtful = may_need_quotes(load_word<std::uint64_t>(from)) ||
                          may_need_quotes(load_word<std::uint64_t>(from + size - 8));
    if (!doubtful) [[likely]]
      return true;
  } else if (size >= 4 && size < 8) {
    const bool doubtful = may_need_quotes(load_word<std::uint32_t>(from)) ||
                          may_need_quotes(load_word<std::uint32_t>(from + size - 4));
    if (!doubtful) [[likely]]
      return true;
  }
  return is_plain_by_bytes(field);
}
FABSCOPE_ALWAYS_INLINE void copy_text(char* to, const char* from, std::size_t size) noexcept {
  if (size >= 8 && size <= 16) {
    const auto first = load_word<std::uint64_t>(from);
    const auto last = load_word<std::uint64_t>(from + size - 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + size - 8, &last, 8);
  } else if (size >= 4 && size < 8) {
    const auto first = load_word<std::uint32_t>(from);
    const auto last = load_word<std::uint32_t>(from + size - 4);
    std::memcpy(to, &first, 4);
    std::memcpy(to + size - 4, &last, 4);
  } else if (size != 0) {
    std::memcpy(to, from, size);
  }
}
// Null if there is no room.
FABSCOPE_NOINLINE inline char* put_quoted(char* to, char* limit, std::string_view field) noexcept {
  std::size_t bytes = field.size() + 2;
  for (const char c : field) bytes += c == '"' ? 1U : 0U;
  if (bytes > static_cast<std::size_t>(limit - to)) return nullptr;
  *to++ = '"';
  for (const char c : field) {
    if (c == '"') *to++ = '"';
    *to++ = c;
  }
  *to++ = '"';
  return to;
}

/// Bytes of the valid UTF-8 character that `text` begins with, 0 if it begins with none.
inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  // Over-long forms, surrogates and numbers above U+10FFFF show in the second byte.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

inline constexpr std::array<bool, 256> plain_in_json = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = ' '; c <= '~'; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();
// Writes the escaped form of the character that `string` begins with, at most 6 bytes, and takes it
// off the string.
inline char* put_escaped(char* to, std::string_view& string) noexcept {
  const auto byte = static_cast<unsigned char>(string[0]);
  const auto copy = [&](std::string_view text, std::size_t used) {
    std::memcpy(to, text.data(), text.size());
    string.remove_prefix(used);
    return to + text.size();
  };
  switch (byte) {
    case '"': return copy("\\\"", 1);
    case '\\': return copy("\\\\", 1);
    case '\n': return copy("\\n", 1);
    case '\r': return copy("\\r", 1);
    case '\t': return copy("\\t", 1);
    default: break;
  }
  if (byte < 0x20 || byte == 0x7F) {
    const char hex[] = "0123456789abcdef";
    const char text[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    return copy({text, 6}, 1);
  }
  const std::size_t length = utf8_length(string);
  return length == 0 ? copy("\\ufffd", 1) : copy(string.substr(0, length), length);
}
// True if some byte is a quote, a backslash, a control character, or none of ASCII; perhaps also
// behind one of those.
template <std::unsigned_integral Word>
FABSCOPE_ALWAYS_INLINE bool may_need_escapes(Word word) noexcept {
  constexpr Word ones = static_cast<Word>(~Word{0}) / 0xFF;
  const Word quotes = (word ^ ones * '"') - ones;
  const Word slashes = (word ^ ones * '\\') - ones;
  const Word controls = word - ones * ' ';
  return ((quotes | slashes | controls | (word + ones) | word) & (ones << 7)) != 0;
}
FABSCOPE_ALWAYS_INLINE bool is_plain_json(const char* from, std::size_t size) noexcept {
  if (size >= 8 && size <= 16) {
    return !may_need_escapes(load_word<std::uint64_t>(from)) &&
           !may_need_escapes(load_word<std::uint64_t>(from + size - 8));
  }
  return size >= 4 && size < 8 && !may_need_escapes(load_word<std::uint32_t>(from)) &&
         !may_need_escapes(load_word<std::uint32_t>(from + size - 4));
}
// Null if there is no room.
FABSCOPE_NOINLINE inline char* put_json_by_bytes(char* to, char* limit,
                                                 std::string_view string) noexcept {
  if (limit - to < 2) return nullptr;
  *to++ = '"';
  --limit;  // for the closing quote
  while (!string.empty()) {
    if (plain_in_json[static_cast<unsigned char>(string[0])]) [[likely]] {
      if (to == limit) return nullptr;
      *to++ = string[0];
      string.remove_prefix(1);
      continue;
    }
    char text[6];
    const auto bytes = static_cast<std::size_t>(put_escaped(text, string) - text);
    if (bytes > static_cast<std::size_t>(limit - to)) return nullptr;
    std::memcpy(to, text, bytes);
    to += bytes;
  }
  *to++ = '"';
  return to;
}
FABSCOPE_ALWAYS_INLINE char* put_json(char* to, char* limit, std::string_view string) noexcept {
  const std::size_t size = string.size();
  const bool fits = size + 2 <= static_cast<std::size_t>(limit - to);
  if (fits && (size == 0 || is_plain_json(string.data(), size))) [[likely]] {
    *to = '"';
    copy_text(to + 1, string.data(), size);
    to[size + 1] = '"';
    return to + size + 2;
  }
  return put_json_by_bytes(to, limit, string);
}

}  // namespace detail

/// Appends to a span of characters. What does not fit is left out as a whole, and from then on
/// full() is true and nothing more is appended. Never writes past the end, allocates nothing. Each
/// appending function returns the writer, so that calls can be chained.
class FABSCOPE_VISIBLE text_writer {
 public:
  FABSCOPE_HIDDEN explicit text_writer(std::span<char> buffer) noexcept
      : begin_(buffer.data()), to_(begin_), limit_(begin_ + buffer.size()), end_(limit_) {}

  FABSCOPE_ALWAYS_INLINE text_writer& text(std::string_view text) noexcept {
    if (text.size() <= room()) [[likely]] {
      std::memcpy(to_, text.data(), text.size());
      to_ += text.size();
      return *this;
    }
    return stop();
  }
  /// The same for what is known at run time only and mostly has 4 to 16 characters.
  FABSCOPE_ALWAYS_INLINE text_writer& name(std::string_view text) noexcept {
    if (text.size() > room()) [[unlikely]]
      return stop();
    detail::copy_text(to_, text.data(), text.size());
    to_ += text.size();
    return *this;
  }
  FABSCOPE_ALWAYS_INLINE text_writer& ch(char c) noexcept {
    if (room() == 0) [[unlikely]]
      return stop();
    *to_++ = c;
    return *this;
  }

  FABSCOPE_ALWAYS_INLINE text_writer& u64(std::uint64_t value) noexcept {
    return put<24>([=](char* to) noexcept { return detail::put_u64(to, value); });
  }
  /// The same with a character behind it.
  FABSCOPE_ALWAYS_INLINE text_writer& u64(std::uint64_t value, char behind) noexcept {
    return put<25>([=](char* to) noexcept {
      to = detail::put_u64(to, value);
      *to = behind;
      return to + 1;
    });
  }
  FABSCOPE_ALWAYS_INLINE text_writer& i64(std::int64_t value) noexcept {
    return put<25>([=](char* to) noexcept {
      if (value >= 0) return detail::put_u64(to, static_cast<std::uint64_t>(value));
      *to = '-';
      return detail::put_u64(to + 1, ~static_cast<std::uint64_t>(value) + 1);
    });
  }
  /// Lower-case hexadecimal without prefix, at least `digits` of them (at most 16).
  FABSCOPE_HIDDEN text_writer& hex(std::uint64_t value, int digits = 1) noexcept {
    return put<16>([=](char* to) noexcept {
      int count = (static_cast<int>(std::bit_width(value)) + 3) / 4;
      if (count < digits) count = digits < 16 ? digits : 16;
      for (int i = count - 1; i >= 0; --i) *to++ = "0123456789abcdef"[value >> (4 * i) & 15];
      return to;
    });
  }

  /// A number of thousandths, with three decimals: 1234 is written 1.234.
  FABSCOPE_ALWAYS_INLINE text_writer& fixed3(std::uint64_t thousandths) noexcept {
    return put<25>([=](char* to) noexcept { return detail::put_fixed3(to, thousandths); });
  }
  /// Three decimals, rounded to the nearest (values of 9*10^12 and more carry a double's own
  /// error). What is not a number is written `nan`, `inf` or `-inf`.
  template <std::same_as<double> Double>
  FABSCOPE_ALWAYS_INLINE text_writer& fixed3(Double value) noexcept {
    const bool negative = value < 0;
    const double size = negative ? -value : value;
    if (size < 9e15) [[likely]] {
      const auto thousandths =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(size * 1000.0 + 0.5));
      return put<26>([=](char* to) noexcept {
        *to = '-';
        return detail::put_fixed3(to + (negative && thousandths != 0 ? 1 : 0), thousandths);
      });
    }
    return put<330>([=](char* to) noexcept {
      return std::to_chars(to, to + 330, value, std::chars_format::fixed, 3).ptr;
    });
  }
  /// The shortest text that reads back as the same number; `null` where JSON knows no number.
  FABSCOPE_HIDDEN text_writer& json_number(double value) noexcept {
    if (!(value - value == 0)) return text("null");
    return put<32>([=](char* to) noexcept { return std::to_chars(to, to + 32, value).ptr; });
  }

  /// A field of RFC 4180, quoted only if it must be.
  FABSCOPE_ALWAYS_INLINE text_writer& csv_field(std::string_view field) noexcept {
    if (detail::is_plain_csv(field)) [[likely]]
      return name(field);
    return take(detail::put_quoted(to_, limit_, field));
  }

  /// A JSON string with its quotes, valid for any bytes: control characters are escaped, and each
  /// byte that belongs to no UTF-8 character becomes U+FFFD.
  FABSCOPE_ALWAYS_INLINE text_writer& json_string(std::string_view string) noexcept {
    return take(detail::put_json(to_, limit_, string));
  }

  [[nodiscard]] FABSCOPE_HIDDEN bool full() const noexcept { return full_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t size() const noexcept {
    return static_cast<std::size_t>(to_ - begin_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::string_view view() const noexcept { return {begin_, size()}; }
  /// Starts again at the beginning of the buffer.
  FABSCOPE_HIDDEN void clear() noexcept {
    to_ = begin_;
    limit_ = end_;
    full_ = false;
  }

 private:
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t room() const noexcept {
    return static_cast<std::size_t>(limit_ - to_);
  }
  // Something did not fit: no room for anything from now on.
  FABSCOPE_ALWAYS_INLINE text_writer& stop() noexcept {
    limit_ = to_;
    full_ = true;
    return *this;
  }
  FABSCOPE_ALWAYS_INLINE text_writer& take(char* to) noexcept {
    if (to == nullptr) [[unlikely]]
      return stop();
    to_ = to;
    return *this;
  }
  // Lets `format` write straight into the buffer if the most that it stores fits, else by a copy.
  template <std::size_t Most, class Format>
  FABSCOPE_ALWAYS_INLINE text_writer& put(Format format) noexcept {
    if (room() >= Most) [[likely]] {
      to_ = format(to_);
      return *this;
    }
    return take(put_by_copy<Most>(to_, limit_, format));
  }
  template <std::size_t Most, class Format>
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE static char* put_by_copy(char* to, char* limit,
                                                             Format format) noexcept {
    char copy[Most];
    const auto bytes = static_cast<std::size_t>(format(copy) - copy);
    if (bytes > static_cast<std::size_t>(limit - to)) return nullptr;
    std::memcpy(to, copy, bytes);
    return to + bytes;
  }

  char* begin_;
  char* to_;
  char* limit_;  // end_, or where something did not fit
  char* end_;
  bool full_ = false;
};

FABSCOPE_NAMESPACE_END
