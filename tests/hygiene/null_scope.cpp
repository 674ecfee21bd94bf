// SPDX-License-Identifier: Apache-2.0
// Compiled and disassembled by null_scope.py, never run: functions named null_* must be a bare
// return.
#include <fabscope/scope.hpp>

using namespace fabscope::literals;

namespace {
struct solver {
  static constexpr const char* name = "solver";
};
using off = fabscope::basic_scope<fabscope::null_recorder>;
using off_in_domain = fabscope::basic_scope<fabscope::null_recorder, solver>;
}  // namespace

extern "C" {

void null_plain() { const off one{"plain"_name}; }

void null_arguments(std::uint64_t bytes, std::int64_t value) {
  const off_in_domain one{"arguments"_name, bytes, value};
}

void null_set_inside(std::uint64_t bytes) {
  off one{"inside"_name};
  one.bytes(bytes * 3);
  one.value(-1);
}

void null_nested(std::uint64_t rounds) {
  const off outer{"outer"_name};
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const off inner{"inner"_name, i};
  }
}

void null_own_site() {
  static constinit fabscope::site here{"site"};
  const off one{here};
}

// Shows that the disassembly is read: this one must be more.
void live_scope() { const fabscope::scope one{"live"_name}; }

}  // extern "C"
