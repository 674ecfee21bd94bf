// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fabscope/session/replay.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <random>
#include <string>
#include <vector>

#include "../../examples/tools/report_records.hpp"
#include "unit/session/segment_fixture.hpp"

namespace fs = fabscope;
using namespace segment_test;

namespace {

struct area {
  std::uint64_t begin;
  std::uint64_t bytes;
};

template <class Row>
void use(Row* rows, std::uint32_t count, std::uint32_t name) {
  for (std::uint32_t i = 0; i < count; ++i) {
    rows[i].used = fs::row_in_use;
    rows[i].nic = name;
  }
}

/// A segment with something of everything.
void fill(made_segment& made) {
  const auto name = made.label("fi_addr://a");
  const auto thread = made.thread(64, 11, "one");
  const auto other = made.thread(64, 12, "two");
  for (int i = 0; i < 100; ++i) {
    fs::scope_record scope;
    scope.header.ticks = 1000000000 + static_cast<std::uint64_t>(i) * 1000;
    scope.end = scope.header.ticks + 500;
    scope.name = scope.domain = name;
    made.push(thread, scope);
    fs::step_record step;
    step.header.ticks = scope.header.ticks;
    step.end = scope.end;
    step.number = i;
    made.push(thread, step);
    fs::operation_record operation;
    operation.header.ticks = scope.header.ticks;
    operation.end = scope.end;
    operation.local = operation.remote = operation.nic = name;
    operation.op = 3;
    operation.parent = fs::cause(fs::cause_kind::scope, name, 3).bits();
    made.push(other, operation);
  }
  auto* scopes = made.rows<fs::scope_row>(thread, 2);
  scopes[0].used = fs::row_in_use;
  scopes[0].name = scopes[0].domain = name;
  scopes[0].add(500, 10);
  auto* links = made.rows<fs::link_row>(thread, 4);
  use(links, 4, name);
  for (std::uint8_t i = 0; i < 4; ++i) {
    links[i].op = i;
    links[i].add(1000, 64);
  }
  use(made.rows<fs::link_error_row>(thread, 3), 3, name);
  use(made.rows<fs::nic_row>(thread, 2), 2, name);
  use(made.rows<fs::nic_histogram_row>(thread, 2), 2, name);
  use(made.rows<fs::cq_row>(other, 2), 2, name);
  auto* tally = made.rows<fs::tally_row>(other, 1);
  tally->used = fs::row_in_use;
  tally->what = name;
}

/// Everything that reads segments.
std::size_t read_all(fs::segment_view& view) {
  std::size_t size = fs::render_report(view).size() + print_records(view).size();
  fs::file_sink_options options;
  options.opener = {nullptr, [](void*, const char*) noexcept {
                      return ::open("/dev/null", O_WRONLY | O_CLOEXEC);
                    }};
  fs::operations_csv_sink operations(options);
  fs::scopes_jsonl_sink scopes(options);
  size += fs::replay(view, operations) + fs::replay(view, scopes);
  return size;
}

}  // namespace

TEST_CASE("segment.damage: no changed byte makes a reader leave the segment") {
  std::uint64_t seed = std::random_device{}();
  if (const char* chosen = std::getenv("FABSCOPE_TEST_SEED")) {
    seed = std::strtoull(chosen, nullptr, 10);
  }
  MESSAGE("FABSCOPE_TEST_SEED=", seed);
  std::mt19937_64 random(seed);

  made_segment made;
  fill(made);
  const int fd = made.memory().descriptor();
  const std::uint64_t bytes = made.memory().bytes();
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(at != MAP_FAILED);
  auto* raw = static_cast<unsigned char*>(at);
  const std::vector<unsigned char> good(raw, raw + bytes);
  auto intact = made.view();
  const std::string report = fs::render_report(intact);
  CHECK(report.find("== links ==") != std::string::npos);
  CHECK(report.find("== steps ==") != std::string::npos);

  using base = fs::segment_format::base;
  const auto& head = made.base().head;
  const area areas[] = {
      {sizeof head.magic + sizeof head.version + sizeof head.header_bytes,
       offsetof(fs::segment_format::header, clock_map)},
      {offsetof(base, head.clock_map), 512},
      {offsetof(base, types), head.types.count * sizeof(fs::segment_format::type_entry)},
      {offsetof(base, labels), 32},
      {offsetof(base, threads), head.threads.count * sizeof(fs::segment_format::thread_entry)},
      {offsetof(base, blocks), head.blocks.count * sizeof(fs::segment_format::block_entry)},
      {sizeof(base), 64 * 1024},
      {bytes - 8192, 8192},
      {16, bytes - 16},
  };
  std::size_t sum = 0;
  for (int round = 0; round < 250; ++round) {
    std::vector<std::uint64_t> changed;
    const auto changes = 1 + random() % 40;
    for (std::uint64_t i = 0; i < changes; ++i) {
      const area& where = areas[random() % std::size(areas)];
      const std::uint64_t offset = where.begin + random() % where.bytes;
      constexpr unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
      raw[offset] = random() % 2 == 0 ? values[random() % 5] : static_cast<unsigned char>(random());
      changed.push_back(offset);
    }
    if (auto view = fs::segment_view::map(fd)) sum += read_all(*view);
    for (const std::uint64_t offset : changed) raw[offset] = good[offset];
  }
  CHECK(sum > 0);
  CHECK(fs::render_report(intact) == report);
  ::munmap(at, bytes);
}

TEST_CASE("segment.damage: what is no segment is refused") {
  made_segment made;
  const int fd = made.memory().descriptor();
  auto& head = made.base().head;
  head.magic ^= 1;
  CHECK(fs::segment_view::map(fd).error() == fs::errc::corrupt);
  head.magic ^= 1;
  ++head.version;
  CHECK(fs::segment_view::map(fd).error() == fs::errc::corrupt);
  --head.version;
  CHECK(fs::segment_view::map(fd).has_value());
  const int empty = ::memfd_create("empty", 0);
  CHECK(fs::segment_view::map(empty).error() == fs::errc::corrupt);
  ::close(empty);
}

TEST_CASE("segment.damage: records of any type are decoded by their description") {
  made_segment made;
  fill(made);
  auto view = made.view();
  const std::string text = print_records(view);
  CHECK(text.find("== records of one 11 ==\n137 +") != std::string::npos);
  CHECK(text.find("199 +0.000099000 step end=0.000099500s number=99\n") != std::string::npos);
  CHECK(text.find(" operation end=0.000099500s bytes=0 parent=scope:fi_addr://a#3 "
                  "local=fi_addr://a remote=fi_addr://a nic=fi_addr://a error=0 op=3 level=0 "
                  "flags=0 retries=0\n") != std::string::npos);
}
