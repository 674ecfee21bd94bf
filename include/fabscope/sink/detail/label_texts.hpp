// SPDX-License-Identifier: Apache-2.0
// Labels in the escaped form that a format needs, made once per label. Layer: sink.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/sink/context.hpp>
#include <fabscope/sink/text_writer.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Threads: one.  Cost: one comparison and one load for a label that was seen before.
class FABSCOPE_VISIBLE label_texts {
 public:
  using escape = void (*)(text_writer&, std::string_view) noexcept;

  /// `none` stands, as it is, for labels that have no text.
  FABSCOPE_HIDDEN label_texts(escape how, std::string_view none) noexcept
      : escape_(how), none_(none) {}

  [[nodiscard]] FABSCOPE_HIDDEN std::string_view get(std::uint32_t number,
                                                     const sink_context& about) noexcept {
    if (number < texts_.size() && !texts_[number].empty()) [[likely]]
      return texts_[number];
    return add(number, about);
  }

 private:
  FABSCOPE_HIDDEN std::string_view add(std::uint32_t number, const sink_context& about) noexcept {
    const std::string_view text = about.label(number);
    if (text.empty()) return none_;  // nor is a number stored that nobody knows
    char room[6 * 256 + 2];
    text_writer writer{std::span<char>(room)};
    escape_(writer, text.substr(0, 255));
    if (number >= texts_.size()) texts_.resize(std::size_t{number} + 64);
    texts_[number] = writer.view();
    return texts_[number];
  }

  escape escape_;
  std::string_view none_;
  std::vector<std::string> texts_;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
