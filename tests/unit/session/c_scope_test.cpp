// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <thread>

#include "../scope/scope_fixture.hpp"

namespace {
const fabscope_table& table() {
  const fabscope_table* running = fabscope::detail::find_session();
  REQUIRE(running != nullptr);
  return *running;
}
}  // namespace

TEST_CASE("session.c_scope: a push and its pop belong together while recording goes off and on") {
  watched_session session;
  const fabscope_table& c = table();
  c.push("outer");
  session.get().enable(false);
  c.push("unseen");
  session.get().enable(true);
  c.pop(1, 1);  // of what was pushed while nothing was recorded
  c.push(nullptr);
  c.push("inner");
  c.pop(2, 2);
  c.pop(3, 3);  // of the one without a name
  c.pop(4, 4);
  const auto& seen = session.finish().scopes;
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].name == "inner");
  CHECK(seen[0].record.bytes == 2);
  CHECK(seen[0].record.depth == 1);
  CHECK(seen[1].name == "outer");
  CHECK(seen[1].record.bytes == 4);
  CHECK(seen[1].record.depth == 0);
}

TEST_CASE("session.c_scope: what a thread left open is not its successor's") {
  watched_session session;
  const fabscope_table& c = table();
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      c.pop(9, 9);
      c.push("left open");
      c.step(round);
    }).join();
    session.get().flush();
  }
  c.push("closed");
  c.pop(0, 0);
  const auto& seen = session.finish().scopes;
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].name == "closed");
}
