// SPDX-License-Identifier: Apache-2.0
// The one macro for users, in no umbrella: a scope with the name of its function. Layer: scope.
#pragma once

#include <string_view>

#include <fabscope/core/version.hpp>
#include <fabscope/scope/basic_scope.hpp>

#define FABSCOPE_DETAIL_LINE(name, line) FABSCOPE_DETAIL_LINE_EXPANDED(name, line)
#define FABSCOPE_DETAIL_LINE_EXPANDED(name, line) name##line

FABSCOPE_NAMESPACE_BEGIN
namespace detail {
/// Of a hidden type, the static object in a user's inline function is no unique symbol of a
/// library.
struct function_site : site {
  using site::site;
};
}  // namespace detail
FABSCOPE_NAMESPACE_END

/// Measures from here to the end of the block, under the name of the function as `__func__` has it.
/// Cost: that of a scope.
#define FABSCOPE_FUNCTION_SCOPE()                                                    \
  static constinit ::fabscope::detail::function_site FABSCOPE_DETAIL_LINE(           \
      fabscope_site_, __LINE__){::std::string_view(__func__, sizeof(__func__) - 1)}; \
  const ::fabscope::scope FABSCOPE_DETAIL_LINE(fabscope_scope_, __LINE__) {          \
    FABSCOPE_DETAIL_LINE(fabscope_site_, __LINE__)                                   \
  }
