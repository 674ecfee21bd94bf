// SPDX-License-Identifier: Apache-2.0
// Scopes, phases and steps of a running session.
#include "measure.hpp"

#include <cstdint>

#include <fabscope/scope.hpp>

namespace fs = fabscope;
using namespace fabscope::literals;

namespace instructions {

void scopes() {
  using ring_only = fs::basic_scope<fs::session_recorder<false>>;
  row("scope_enabled", [](std::size_t i) { const ring_only one{"one"_name, i, 7}; });
  row("scope_aggregated", [](std::size_t i) { const fs::scope one{"one"_name, i, 7}; });
  {
    fs::basic_phases<fs::session_recorder<false>> phases{"first"_name};
    row("scope_chained", [&phases](std::size_t i) { phases.next("next"_name, i, 7); });
  }
  row("step", [](std::size_t i) { const fs::step one{static_cast<std::int64_t>(i)}; });
}

void scopes_disabled() {
  row("scope_disabled", [](std::size_t i) { const fs::scope one{"one"_name, i, 7}; });
}

}  // namespace instructions
