// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/scope/attribute.hpp>

#include "scope_fixture.hpp"

using namespace fabscope::literals;

namespace {
struct solver {
  static constexpr const char* name = "solver";
};
}  // namespace

TEST_CASE("scope.attribute: numbers and texts belong to the innermost scope") {
  watched_session session;
  CHECK(fabscope::attribute("alone"_name, true));
  {
    const fabscope::scope outer{"outer"_name};
    CHECK(fabscope::attribute("peer"_name, 17U));
    {
      const fabscope::scope inner{"inner"_name};
      CHECK(fabscope::attribute("ratio"_name, 0.5F));
      CHECK(fabscope::attribute<solver>("algorithm"_name, "ring"));
    }
    CHECK(fabscope::attribute("debt"_name, std::int64_t{-3}));
  }
  const auto& seen = session.finish();
  REQUIRE(seen.scopes.size() == 2);
  REQUIRE(seen.attributes.size() == 5);
  const auto& inner = seen.scopes[0].record;
  const auto& outer = seen.scopes[1].record;
  const auto& a = seen.attributes;
  CHECK(a[0].name == "alone");
  CHECK(a[0].record.scope == 0);
  CHECK(a[0].record.integer == 1);
  CHECK(a[1].name == "peer");
  CHECK(a[1].domain == "app");
  CHECK(a[1].record.integer == 17);
  CHECK(fabscope::cause(a[1].record.scope).number() == outer.number);
  CHECK(a[2].record.kind == static_cast<std::uint32_t>(fabscope::attribute_kind::real));
  CHECK(a[2].record.real == 0.5);
  CHECK(fabscope::cause(a[2].record.scope).number() == inner.number);
  CHECK(a[3].name == "algorithm");
  CHECK(a[3].domain == "solver");
  CHECK(a[3].text == "ring");
  CHECK(a[3].record.kind == static_cast<std::uint32_t>(fabscope::attribute_kind::text));
  CHECK(a[4].record.integer == -3);
  CHECK(fabscope::cause(a[4].record.scope).number() == outer.number);
  CHECK(a[4].record.header.thread == outer.header.thread);
}

TEST_CASE("scope.attribute: says no when nothing is recorded") {
  CHECK_FALSE(fabscope::attribute("nobody"_name, 1));
  watched_session session;
  session.get().enable(false);
  CHECK_FALSE(fabscope::attribute("nobody"_name, "looks"));
  CHECK(session.finish().attributes.empty());
}
