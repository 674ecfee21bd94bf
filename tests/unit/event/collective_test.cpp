// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/event/collective.hpp>
#include <string_view>

namespace fs = fabscope;
using fs::collective;

TEST_CASE("event.collective: every kind has a name of its own, and the name leads back") {
  for (unsigned i = 1; i < static_cast<unsigned>(collective::count_); ++i) {
    const auto kind = static_cast<collective>(i);
    CHECK(fs::collective_named(fs::to_string(kind)) == kind);
  }
  CHECK(std::string_view(fs::to_string(collective::none)) == "none");
  CHECK(std::string_view(fs::to_string(collective::count_)) == "unknown");
  CHECK(std::string_view(fs::to_string(static_cast<collective>(255))) == "unknown");
}

TEST_CASE("event.collective: other spellings are understood, other words are not") {
  CHECK(fs::collective_named("all2all") == collective::all_to_all);
  CHECK(fs::collective_named("AllToAll") == collective::all_to_all);
  CHECK(fs::collective_named("ALLREDUCE") == collective::all_reduce);
  CHECK(fs::collective_named("") == collective::none);
  CHECK(fs::collective_named("none") == collective::none);
  CHECK(fs::collective_named("AllReduce2") == collective::none);
  static_assert(fs::collective_named("ReduceScatter") == collective::reduce_scatter);
  static_assert(fs::is_point_to_point(collective::send_recv));
  static_assert(!fs::is_point_to_point(collective::gather));
}
