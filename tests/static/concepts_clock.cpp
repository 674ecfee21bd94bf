// SPDX-License-Identifier: Apache-2.0
// What the concept of the clock folder accepts and refuses. Compiling is the test.
#include <cstdint>
#include <fabscope/clock/concepts.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/manual_clock.hpp>
#include <fabscope/clock/steady_clock.hpp>
#include <support/archetypes/clock.hpp>

namespace fs = fabscope;

namespace {

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

static_assert(fs::tick_clock<archetypes::clock>);
static_assert(fs::tick_clock<fs::steady_clock>);
static_assert(fs::tick_clock<fs::counter_clock>);
static_assert(fs::tick_clock<fs::manual_clock<>>);
static_assert(!fs::tick_clock<may_throw>);
static_assert(!fs::tick_clock<signed_ticks>);
static_assert(!fs::tick_clock<narrow_ticks>);
static_assert(!fs::tick_clock<needs_an_object>);
static_assert(!fs::tick_clock<has_none>);
static_assert(!fs::tick_clock<int>);

}  // namespace
