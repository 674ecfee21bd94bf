// SPDX-License-Identifier: Apache-2.0
// A translation unit with scopes only.
#include "work.hpp"

using namespace fabscope::literals;

namespace {
constinit fabscope::site own_site{"guarded", "solver"};
}

int work(int n) {
  const fabscope::scope whole{"work"_name};
  guard guarded{own_site};
  guarded.moved(4 * fabscope::KiB);
  fabscope::phases p{"pack"_name};
  const int packed = in_line(n);
  p.next("send"_name);
  fabscope::attribute("peer"_name, 3);
  fabscope::emit(residual{{}, 0.5});
  return templated<solver>(packed);  // two scopes more
}
