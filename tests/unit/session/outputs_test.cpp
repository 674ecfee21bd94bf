// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fabscope/session.hpp>
#include <fabscope/sink/binary_file.hpp>
#include <string>

namespace fs = fabscope;
using namespace fabscope::literals;

namespace {

struct depth_record {
  fs::record_header header;
  std::uint64_t bytes = 0;
  std::uint32_t depth = 0;
  std::uint32_t who = 0;
  static constexpr const char* type_name = "outputs_test.depth";
  static constexpr bool is_row = false;
  static const fs::field fields[3];
};
inline constexpr fs::field depth_record::fields[3] = {
    {"bytes", "B", offsetof(depth_record, bytes), fs::field_type::u64},
    {"depth", "", offsetof(depth_record, depth), fs::field_type::u32},
    {"who", "", offsetof(depth_record, who), fs::field_type::label},
};

}  // namespace

TEST_CASE("session.outputs: records.bin has every record, also of the program's own types") {
  char folder[] = "/tmp/fabscope_outputs.XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  fs::options chosen;
  chosen.directory = folder;
  chosen.outputs = fs::output_bin;
  std::string path;
  fs::record_totals totals;
  {
    fs::session session(chosen);
    REQUIRE(session.status() == fs::errc::ok);
    for (int i = 0; i < 40; ++i) {
      const fs::step step{i};
      const fs::scope scope{"work"_name, 512};
      depth_record own;
      own.bytes = static_cast<std::uint64_t>(i) * 3;
      own.depth = 7;
      fs::emit(own);
    }
    fs::attribute("colour"_name, std::int64_t{5});
    session.finish();
    totals = session.totals();
    path = session.directory();
  }
  // The one file of the directory.
  const std::string command = "mv " + path + "/*.records.bin " + path + "/one.bin";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string one = path + "/one.bin";
  auto file = fs::binary_file::open(one.c_str());
  ::unlink(one.c_str());
  ::rmdir(folder);
  REQUIRE(file.has_value());
  CHECK(totals.produced == 121);
  CHECK(totals.written == 121);
  CHECK(totals.dropped + totals.overwritten + totals.filtered + totals.unread == 0);
  CHECK(file->records_total() == 121);
  REQUIRE(file->end() != nullptr);
  CHECK(file->end()->rows == 121);
  CHECK(file->all<fs::step_record>().size() == 40);
  const auto scopes = file->all<fs::scope_record>();
  REQUIRE(scopes.size() == 40);
  CHECK(file->label(scopes[3].name) == "work");
  CHECK(scopes[3].end >= scopes[3].header.ticks);
  const auto attributes = file->all<fs::attribute_record>();
  REQUIRE(attributes.size() == 1);
  CHECK(attributes[0].integer == 5);
  const auto own = file->all<depth_record>();
  REQUIRE(own.size() == 40);
  CHECK(own[9].bytes == 27);
  CHECK(own[9].depth == 7);
}
