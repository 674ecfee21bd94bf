// SPDX-License-Identifier: Apache-2.0
// Domains are types, scopes nest, and a scope that is off costs nothing.
#include <fabscope/session.hpp>
#include <fabscope/sink/memory_sink.hpp>

using namespace fabscope::literals;

struct solver {
  static constexpr const char* name = "solver";
};

/// Chosen by a type and not by a macro: `measured<false>` compiles to nothing.
template <bool On>
using measured = fabscope::basic_scope<
    std::conditional_t<On, fabscope::session_recorder<true>, fabscope::null_recorder>, solver>;

template <bool On>
int iterate(int n) {
  const measured<On> scope{"iterate"_name, 0, n};
  return n * n;
}

int main() {
  fabscope::session session;
  fabscope::memory_sink<fabscope::scope_record> memory;
  session.add_sink(memory);
  int sum = 0;
  for (int n = 0; n < 10; ++n) {
    fabscope::scope_in<solver> outer{"outer"_name};
    sum += iterate<true>(n) + iterate<false>(n);
    outer.value(sum);  // known only inside the scope
  }
  session.finish();
  const auto& scopes = memory.all<fabscope::scope_record>();
  return scopes.size() == 20 && scopes.back().value == sum && scopes.front().depth == 1 ? 0 : 1;
}
