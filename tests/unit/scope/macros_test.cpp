// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/scope/macros.hpp>

#include "scope_fixture.hpp"

namespace {

void a_function() { FABSCOPE_FUNCTION_SCOPE(); }

template <class T>
T a_template(T value) {
  FABSCOPE_FUNCTION_SCOPE();
  return value;
}

inline int nested(int n) {
  FABSCOPE_FUNCTION_SCOPE();
  if (n > 0) {
    FABSCOPE_FUNCTION_SCOPE();
    return n;
  }
  return 0;
}

struct a_class {
  a_class() { FABSCOPE_FUNCTION_SCOPE(); }
};

}  // namespace

TEST_CASE("scope.macros: a scope has the name of its function") {
  watched_session session;
  for (int n = 0; n < 3; ++n) a_function();
  a_template(1);
  a_template(1.0);
  nested(1);
  const a_class one;
  CHECK(watched_session::counts() ==
        std::map<std::string, std::uint64_t>{
            {"a_function", 3}, {"a_template", 2}, {"nested", 2}, {"a_class", 1}});
  session.finish();
}
