// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/scope/chained.hpp>
#include <type_traits>

#include "scope_fixture.hpp"

using namespace fabscope::literals;

namespace {

struct chained_solver {
  static constexpr const char* name = "chained_solver";
};

static_assert(fabscope::chaining_recorder<fabscope::session_recorder<false>>);
static_assert(fabscope::chaining_recorder<fabscope::null_recorder>);
static_assert(!std::is_copy_constructible_v<fabscope::phases>);

}  // namespace

TEST_CASE("scope.chained: each phase ends where the next begins") {
  watched_session session;
  {
    fabscope::phases p{"pack"_name, 10, 1};
    p.next("send"_name, 20, 2);
    p.next("wait"_name);
    p.bytes(30);
    p.value(3);
  }
  CHECK(watched_session::counts() ==
        std::map<std::string, std::uint64_t>{{"pack", 1}, {"send", 1}, {"wait", 1}});
  const auto& all = session.finish().scopes;
  REQUIRE(all.size() == 3);
  const char* const names[] = {"pack", "send", "wait"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all[i].name == names[i]);
    CHECK(all[i].domain == "app");
    CHECK(all[i].record.bytes == 10 * (i + 1));
    CHECK(all[i].record.value == static_cast<std::int64_t>(i) + 1);
    CHECK(all[i].record.depth == 0);
    CHECK(all[i].record.parent == 0);
    CHECK(all[i].record.end >= all[i].record.header.ticks);
    if (i > 0) {
      CHECK(all[i].record.header.ticks == all[i - 1].record.end);
      CHECK(all[i].record.number == all[i - 1].record.number + 1);
    }
  }
}

TEST_CASE("scope.chained: phases nest in scopes and have scopes inside") {
  watched_session session;
  {
    const fabscope::scope outer{"outer"_name};
    fabscope::phases_in<chained_solver> p{"one"_name};
    { const fabscope::scope inner{"in one"_name}; }
    p.next("two"_name);
    { const fabscope::scope inner{"in two"_name}; }
  }
  { const fabscope::scope after{"after"_name}; }
  std::map<std::string, seen_scope> by;
  for (const auto& one : session.finish().scopes) by[one.name] = one;
  REQUIRE(by.size() == 6);
  CHECK(by["one"].domain == "chained_solver");
  for (const char* const phase : {"one", "two"}) {
    const auto& inner = by[std::string("in ") + phase].record;
    CHECK(by[phase].record.depth == 1);
    CHECK(fabscope::cause(by[phase].record.parent).number() == by["outer"].record.number);
    CHECK(inner.depth == 2);
    CHECK(fabscope::cause(inner.parent).number() == by[phase].record.number);
    CHECK(fabscope::cause(inner.parent).label() == by[phase].record.name);
  }
  CHECK(by["after"].record.depth == 0);
  CHECK(by["after"].record.parent == 0);
}

TEST_CASE("scope.chained: recording switched off and on between phases") {
  watched_session session;
  {
    fabscope::phases p{"first"_name};
    session.get().enable(false);
    p.next("unseen"_name);  // "first" was begun while recording was on
    p.next("unseen"_name);
    session.get().enable(true);
    p.next("seen"_name);
    p.next("last"_name);
  }
  std::vector<std::string> names;
  for (const auto& one : session.finish().scopes) {
    names.push_back(one.name);
    CHECK(one.record.depth == 0);
  }
  CHECK(names == std::vector<std::string>{"first", "seen", "last"});
}

TEST_CASE("scope.chained: without a session nothing happens") {
  fabscope::phases p{"nobody"_name};
  p.next("looks"_name);
  CHECK(fabscope::detail::find_session() == nullptr);
}

TEST_CASE("scope.chained: over two sessions each gets its own phases") {
  watched_session first;
  fabscope::phases p{"old"_name};
  p.next("lost with its session"_name);
  CHECK(first.named("old").size() == 1);
  watched_session second;
  p.next("new"_name);
  p.next("newer"_name);
  CHECK(second.named("new").size() == 1);
}
