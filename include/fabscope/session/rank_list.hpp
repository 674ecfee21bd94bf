// SPDX-License-Identifier: Apache-2.0
// Lists of ranks: "0,8,16", "0-7, 512". Layer: session.
#pragma once

#include <cstdint>
#include <string_view>

#include <fabscope/session/env.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Calls visit(first, last) for each item. Items are separated by commas, blanks or both. False if
/// one of them is no rank and no range, or there is none.
template <class Visit>
constexpr bool for_each_rank_range(std::string_view text, Visit&& visit) noexcept {
  constexpr std::string_view between = ", \t";
  bool any = false;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(between);
    if (begin == text.npos) return any;
    text.remove_prefix(begin);
    const std::size_t size = text.find_first_of(between);
    const std::string_view item = text.substr(0, size);
    text = size == text.npos ? std::string_view{} : text.substr(size);
    const std::size_t dash = item.find('-');
    const auto first = parse_number(item.substr(0, dash));
    const auto last = dash == item.npos ? first : parse_number(item.substr(dash + 1));
    if (!first || !last || *first > *last) return false;
    visit(*first, *last);
    any = true;
  }
}

/// True if the list, which is a good one, has the rank.
constexpr bool has_rank(std::string_view list, std::uint64_t rank) noexcept {
  bool found = false;
  for_each_rank_range(list, [&](std::uint64_t first, std::uint64_t last) noexcept {
    found = found || (first <= rank && rank <= last);
  });
  return found;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END
