// SPDX-License-Identifier: Apache-2.0
// Aligned columns and numbers for the text report. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fabscope/sink/text_writer.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

inline constexpr std::size_t report_width = 110;

/// What stands where an input is missing.
inline constexpr const char* unknown_text = "unknown";

FABSCOPE_NOINLINE inline std::string decimal(double value, int decimals) {
  char text[352];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}
FABSCOPE_NOINLINE inline std::string whole(std::uint64_t value) { return std::to_string(value); }
/// Microseconds with as many decimals as the value bears.
FABSCOPE_NOINLINE inline std::string micros(double ns) {
  const double us = ns / 1e3;
  return decimal(us, us < 1000 ? 3 : 1);
}
FABSCOPE_NOINLINE inline std::string millis(double ns) { return decimal(ns / 1e6, 3); }
/// GB/s, GB being 10^9 bytes; unknown if no time passed.
FABSCOPE_NOINLINE inline std::string gigabytes(double bytes, double ns) {
  return ns > 0 ? decimal(bytes / ns, 3) : unknown_text;
}

/// A name as one word of printable characters: as it is, or as a JSON string.
FABSCOPE_NOINLINE inline std::string word(std::string_view name, const char* none = unknown_text) {
  if (name.empty()) return none;
  bool plain = true;
  for (const char c : name) plain &= c > ' ' && c != '"' && c != 0x7f;
  std::size_t left = plain ? name.size() : 0;
  for (std::string_view rest = name; left > 0; rest = name.substr(name.size() - left)) {
    const std::size_t length = utf8_length(rest);
    if (length == 0) break;
    left -= length;
  }
  if (plain && left == 0) return std::string(name);
  std::vector<char> room(name.size() * 6 + 2);
  text_writer writer{std::span<char>(room)};
  writer.json_string(name);
  return std::string(writer.view());
}

/// Rows under column names; numbers to the right, names (columns that begin
/// with '<' and a letter) to the left.
class report_table {
 public:
  FABSCOPE_NOINLINE explicit report_table(std::initializer_list<const char*> columns,
                                          std::size_t indent = 0)
      : indent_(indent) {
    std::vector<std::string> names;
    for (const char* name : columns) {
      const bool left = name[0] == '<' && name[1] != '\0' && (name[1] < '0' || name[1] > '9');
      left_.push_back(left);
      names.emplace_back(left ? name + 1 : name);
    }
    widths_.resize(names.size());
    add(std::move(names));
  }

  /// Missing cells at its end stay empty.
  FABSCOPE_NOINLINE void add(std::vector<std::string> cells) {
    cells.resize(widths_.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].size() > widths_[i]) widths_[i] = cells[i].size();
    }
    rows_.push_back({{}, std::move(cells)});
  }
  FABSCOPE_NOINLINE void add(std::initializer_list<std::string_view> cells) {
    std::vector<std::string> own;
    for (const std::string_view cell : cells) own.emplace_back(cell);
    add(std::move(own));
  }
  /// A line of its own between the rows.
  FABSCOPE_NOINLINE void line(std::string text) { rows_.push_back({std::move(text), {}}); }

  [[nodiscard]] bool empty() const noexcept { return rows_.size() <= 1; }

  FABSCOPE_NOINLINE void print(std::string& to) const {
    std::size_t total = indent_;
    for (const std::size_t width : widths_) total += width + 2;
    const std::size_t gap = total - 2 <= report_width ? 2 : 1;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].second.empty()) {
        to += rows_[r].first;
      } else {
        std::string text(indent_, ' ');
        for (std::size_t i = 0; i < widths_.size(); ++i) {
          if (i != 0) text.append(gap, ' ');
          const std::string& cell = rows_[r].second[i];
          const std::size_t fill = widths_[i] - cell.size();
          if (!left_[i]) text.append(fill, ' ');
          text += cell;
          if (left_[i]) text.append(fill, ' ');
        }
        while (!text.empty() && text.back() == ' ') text.pop_back();
        to += text;
      }
      to += '\n';
    }
  }

 private:
  std::vector<bool> left_;
  std::vector<std::size_t> widths_;
  std::vector<std::pair<std::string, std::vector<std::string>>> rows_;
  std::size_t indent_;
};

/// Begins a section.
FABSCOPE_NOINLINE inline void section(std::string& to, const char* title) {
  to += "\n== ";
  to += title;
  to += " ==\n";
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
