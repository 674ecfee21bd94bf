// SPDX-License-Identifier: Apache-2.0
// The least that a domain and the recorders of scopes must be.
#pragma once

#include <cstdint>
#include <fabscope/scope/concepts.hpp>

namespace archetypes {

struct domain {
  static constexpr const char* name = "archetype";
};

struct recorder {
  struct token {};
  static token begin(fabscope::site&) noexcept { return {}; }
  static void end(token&, std::uint64_t, std::int64_t) noexcept {}
};

struct chaining_recorder : recorder {
  struct chain_token {};
  static chain_token begin_chain(fabscope::site&) noexcept { return {}; }
  static void next(chain_token&, fabscope::site&, std::uint64_t, std::int64_t) noexcept {}
  using recorder::end;
  static void end(chain_token&, std::uint64_t, std::int64_t) noexcept {}
};

}  // namespace archetypes
