// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/session.hpp>
#include <fabscope/session/report.hpp>
#include <string>

using namespace fabscope::literals;

TEST_CASE("session.report_scopes: an unfinished process shows what its threads are in") {
  fabscope::options chosen;
  chosen.outputs = fabscope::output_none;
  fabscope::session session(chosen);
  const auto report = [] {
    const auto view =
        fabscope::segment_view::map(fabscope::detail::current_engine()->memory_file().descriptor());
    REQUIRE(view);
    return fabscope::render_report(*view);
  };
  CHECK(report().find("== open scopes ==") == std::string::npos);
  {
    const fabscope::scope outer{"outer"_name};
    {
      const fabscope::scope inner{"of two words"_name};
      const std::string text = report();
      const std::size_t at = text.find("== open scopes ==");
      REQUIRE(at != std::string::npos);
      CHECK(text.find("\"of two words\"", at) != std::string::npos);
    }
    const std::string text = report();
    CHECK(text.find("outer", text.find("== open scopes ==")) != std::string::npos);
    CHECK(text.find("of two words", text.find("== open scopes ==")) ==
          text.find("of two words", text.find("== scopes ==")));
  }
  CHECK(report().find("== open scopes ==") == std::string::npos);
  session.finish();
}
