// SPDX-License-Identifier: Apache-2.0
// What is a clock and what is not; compiling is passing.
#include <fabscope/clock/concepts.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/manual_clock.hpp>
#include <fabscope/clock/steady_clock.hpp>

namespace {

struct archetype {
  static std::uint64_t now() noexcept { return 0; }
};
struct may_throw {
  static std::uint64_t now() { return 0; }
};
struct signed_ticks {
  static std::int64_t now() noexcept { return 0; }
};
struct narrow_ticks {
  static std::uint32_t now() noexcept { return 0; }
};
struct needs_an_object {
  std::uint64_t now() noexcept { return 0; }
};
struct has_none {};

static_assert(fabscope::tick_clock<archetype>);
static_assert(fabscope::tick_clock<fabscope::steady_clock>);
static_assert(fabscope::tick_clock<fabscope::counter_clock>);
static_assert(fabscope::tick_clock<fabscope::manual_clock<>>);
static_assert(!fabscope::tick_clock<may_throw>);
static_assert(!fabscope::tick_clock<signed_ticks>);
static_assert(!fabscope::tick_clock<narrow_ticks>);
static_assert(!fabscope::tick_clock<needs_an_object>);
static_assert(!fabscope::tick_clock<has_none>);
static_assert(!fabscope::tick_clock<int>);

}  // namespace
