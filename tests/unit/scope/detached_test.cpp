// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/scope/detached.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "scope_fixture.hpp"

using namespace fabscope::literals;

static_assert(std::is_nothrow_move_constructible_v<fabscope::detached_scope>);
static_assert(std::is_nothrow_move_assignable_v<fabscope::detached_scope>);
static_assert(!std::is_copy_constructible_v<fabscope::detached_scope>);

TEST_CASE("scope.detached: begun here, ended there, belongs to the thread that began it") {
  watched_session session;
  std::uint32_t here = 0;
  {
    const fabscope::scope outer{"outer"_name};
    here = fabscope::detail::tls_port->thread->id;
    fabscope::detached_scope request{"request"_name, 7, -7};
    CHECK(request.is_open());
    std::thread([moved = std::move(request)]() mutable {
      { const fabscope::scope own{"own"_name}; }
      moved.bytes(9);
      moved.end();
      moved.end();
      CHECK_FALSE(moved.is_open());
    }).join();
    CHECK_FALSE(request.is_open());  // NOLINT: a moved-from scope measures nothing
    const fabscope::scope inner{"inner"_name};
  }
  CHECK(watched_session::counts()["request"] == 1);
  std::map<std::string, fabscope::scope_record> by;
  for (const auto& one : session.finish().scopes) {
    CHECK(by.count(one.name) == 0);
    by[one.name] = one.record;
  }
  REQUIRE(by.size() == 4);
  CHECK(by["request"].header.thread == here);
  CHECK(by["own"].header.thread != here);
  CHECK(by["request"].bytes == 9);
  CHECK(by["request"].value == -7);
  CHECK(by["request"].depth == 1);
  CHECK(fabscope::cause(by["request"].parent).number() == by["outer"].number);
  CHECK(by["request"].end >= by["request"].header.ticks);
  CHECK(fabscope::cause(by["inner"].parent).number() == by["outer"].number);
  CHECK(by["inner"].number != by["request"].number);
  CHECK(by["inner"].depth == 1);
  CHECK(by["own"].parent == 0);
}

TEST_CASE("scope.detached: the thread that began it may be gone") {
  watched_session session;
  std::vector<fabscope::detached_scope> open;
  for (int round = 0; round < 20; ++round) {
    std::thread([&] { open.emplace_back("orphan"_name); }).join();
    session.get().flush();  // its slot, ring and rows go to a later thread
  }
  open.clear();
  CHECK(session.named("orphan").size() == 20);
}

TEST_CASE("scope.detached: assignment ends what was measured before") {
  watched_session session;
  fabscope::detached_scope one{"first"_name};
  one = fabscope::detached_scope{"second"_name};
  CHECK(watched_session::counts()["first"] == 1);
  auto& same = one;
  one = std::move(same);
  CHECK(one.is_open());
  one = fabscope::detached_scope{};
  CHECK_FALSE(one.is_open());
  CHECK(watched_session::counts()["second"] == 1);
  session.finish();
}

TEST_CASE("scope.detached: what outlives its session is not recorded in another") {
  fabscope::detached_scope late;
  {
    watched_session session;
    late = fabscope::detached_scope{"late"_name};
    CHECK(late.is_open());
    CHECK(session.named("late").empty());
  }
  watched_session second;
  late.end();
  fabscope::detached_scope unseen;
  second.get().enable(false);
  unseen = fabscope::detached_scope{"late"_name};
  CHECK_FALSE(unseen.is_open());
  second.get().enable(true);
  CHECK(second.named("late").empty());
}

TEST_CASE("scope.detached: without a session nothing happens") {
  auto nothing = std::make_unique<fabscope::detached_scope>("nobody"_name);
  CHECK_FALSE(nothing->is_open());
  nothing->end();
}
