// SPDX-License-Identifier: Apache-2.0
// What the library asks of a clock. Layer: clock.
#pragma once

#include <concepts>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A source of ticks that can be read from any thread, without state and without failing.
/// semantics: ticks have one fixed rate while the process lives; now() never goes backwards on one
/// thread, and if a read happens before another (through any synchronisation) it does not return
/// more. semantics: a read costs tens of nanoseconds, takes no lock and normally makes no system
/// call.
template <class Clock>
concept tick_clock = requires {
  { Clock::now() }
  noexcept->std::same_as<std::uint64_t>;
};

FABSCOPE_NAMESPACE_END
