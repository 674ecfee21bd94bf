// SPDX-License-Identifier: Apache-2.0
// Names of scopes: constants at the call site, numbers in the session. Layer: scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fabscope/core/config.hpp>
#include <fabscope/scope/link.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A domain groups scopes and is a type with a name:
/// `struct solver { static constexpr const char* name = "solver"; };`
template <class D>
concept scope_domain = requires {
  { D::name } -> std::convertible_to<std::string_view>;
};

/// The domain of scopes that name none.
struct FABSCOPE_VISIBLE default_domain {
  static constexpr const char* name = "app";
};

/// A scope's name together with the numbers that the running session gave to it and to its domain.
/// Objects of this type live for ever (static storage).
class FABSCOPE_VISIBLE site {
 public:
  FABSCOPE_HIDDEN constexpr site(std::string_view name,
                                 std::string_view domain = default_domain::name) noexcept
      : name_(name), domain_(domain) {}
  site(const site&) = delete;
  site& operator=(const site&) = delete;

  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::string_view domain() const noexcept {
    return domain_;
  }

  /// Label of the name in the low, of the domain in the high half.  `pattern` is site_pattern of
  /// the session; `table` is only read when the site has to ask. Cost: one load and one comparison;
  /// in a session's first use at this site two registrations.
  FABSCOPE_ALWAYS_INLINE std::uint64_t labels(std::uint64_t pattern,
                                              const fabscope_table* const& table) noexcept {
    const std::uint64_t labels = __atomic_load_n(&labels_, __ATOMIC_RELAXED) ^ pattern;
    if (__builtin_expect((labels & ~label_bits) != 0, 0)) return ask(pattern, table);
    return labels;
  }

  /// A session's number in the bits that two labels of 24 bits leave free.
  FABSCOPE_HIDDEN static constexpr std::uint64_t pattern_of(std::uint32_t session) noexcept {
    return std::uint64_t{session >> 8 & 0xffU} << 56 | std::uint64_t{session & 0xffU} << 24;
  }

 private:
  static constexpr std::uint64_t label_bits = 0x00ffffff00ffffffU;

  FABSCOPE_HIDDEN FABSCOPE_NOINLINE std::uint64_t ask(std::uint64_t pattern,
                                                      const fabscope_table* table) noexcept {
    const std::uint64_t name = table->label(name_.data(), name_.size());
    const std::uint64_t domain = table->label(domain_.data(), domain_.size());
    const std::uint64_t labels = (domain << 32 | name) & label_bits;
    __atomic_store_n(&labels_, labels | pattern, __ATOMIC_RELAXED);
    return labels;
  }

  std::string_view name_;
  std::string_view domain_;
  std::uint64_t labels_ = 0;  // domain << 32 | name, and the session's pattern
};

/// Text as a template argument.
template <std::size_t N>
struct fixed_string {
  char text[N]{};
  constexpr fixed_string(const char (&from)[N]) noexcept {
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, N - 1}; }
};

/// A name that is known when compiling: what `"exchange"_name` gives.
template <fixed_string Text>
struct constant_name {};

namespace detail {
/// A copy, for clang++ exports the object that a template argument is.
template <fixed_string Text>
FABSCOPE_HIDDEN inline constexpr fixed_string text_of = Text;
}  // namespace detail

/// The site of a constant name in a domain: one object per module.
template <fixed_string Text, scope_domain Domain = default_domain>
FABSCOPE_HIDDEN inline constinit site site_of{detail::text_of<Text>.view(), Domain::name};

inline namespace literals {
/// `fabscope::scope s{"exchange"_name};`
template <fixed_string Text>
constexpr constant_name<Text> operator""_name() noexcept {
  return {};
}
}  // namespace literals

FABSCOPE_NAMESPACE_END
