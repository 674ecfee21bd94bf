// SPDX-License-Identifier: Apache-2.0
// The recorder of a scope that compiles to nothing. Layer: scope.
#pragma once

#include <fabscope/scope/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// `fabscope::basic_scope<fabscope::null_recorder>` emits no instruction.
struct FABSCOPE_VISIBLE null_recorder {
  struct token {};
  using chain_token = token;
  FABSCOPE_HIDDEN static constexpr token begin(site&) noexcept { return {}; }
  FABSCOPE_HIDDEN static constexpr void end(const token&, std::uint64_t, std::int64_t) noexcept {}
  FABSCOPE_HIDDEN static constexpr chain_token begin_chain(site&) noexcept { return {}; }
  FABSCOPE_HIDDEN static constexpr void next(chain_token&, site&, std::uint64_t,
                                             std::int64_t) noexcept {}
};
static_assert(chaining_recorder<null_recorder>);

FABSCOPE_NAMESPACE_END
