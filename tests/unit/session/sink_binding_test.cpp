// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fabscope/session/sink_binding.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <vector>

#include "segment_fixture.hpp"

namespace fs = fabscope;
using namespace segment_test;

namespace {

/// A step of another version: the number is narrower, lies elsewhere and has a neighbour.
struct other_step {
  fs::record_header header;
  std::int32_t number = 0;
  std::uint32_t added = 0;
  std::uint64_t end = 0;
  static constexpr const char* type_name = "step";
  static constexpr bool is_row = false;
  static const fs::field fields[3];
};
inline constexpr fs::field other_step::fields[3] = {
    {"number", "", offsetof(other_step, number), fs::field_type::i32},
    {"added", "", offsetof(other_step, added), fs::field_type::u32},
    {"end", "ns", offsetof(other_step, end), fs::field_type::ticks},
};

/// Has every optional member.
struct talkative {
  void consume(std::span<const fs::step_record> batch, const fs::sink_context&) noexcept {
    got += batch.size();
  }
  void flush(const fs::sink_context&) noexcept { ++flushes; }
  void finish(const fs::sink_context&) noexcept { ++finishes; }
  [[nodiscard]] fs::errc status() const noexcept { return fs::errc::no_space; }
  [[nodiscard]] std::uint64_t lost_total() const noexcept { return 4; }
  [[nodiscard]] std::uint64_t filtered_total() const noexcept { return 2; }
  std::size_t got = 0;
  int flushes = 0;
  int finishes = 0;
};
struct silent {
  void consume(std::span<const fs::step_record>, const fs::sink_context&) noexcept {}
  void flush(const fs::sink_context&) noexcept {}
};

template <class T>
const fs::segment_format::type_entry& registered(made_segment& made) {
  return made.base().types[made.type<T>() - 1];
}

}  // namespace

TEST_CASE("session.sink_binding: a sink gets the types that it takes, and a route once per type") {
  made_segment made;
  auto view = made.view();
  const auto about = view.context();
  fs::memory_sink<fs::step_record> sink;
  fs::detail::typed_sink<fs::memory_sink<fs::step_record>, fs::scope_record, fs::step_record> bound(
      sink);
  const auto& step_type = registered<fs::step_record>(made);
  const auto& scope_type = registered<fs::scope_record>(made);
  fs::detail::record_route* route = bound.route(1, step_type);
  REQUIRE(route != nullptr);
  CHECK(bound.route(1, step_type) == route);
  CHECK(bound.route(2, scope_type) == nullptr);  // asked for, but the sink does not take it
  fs::step_record steps[2];
  steps[0].number = 7;
  steps[1].number = 8;
  route->deliver(reinterpret_cast<const unsigned char*>(steps), 2, about);
  REQUIRE(sink.all<fs::step_record>().size() == 2);
  CHECK(sink.all<fs::step_record>()[1].number == 8);
}

TEST_CASE("session.sink_binding: records of another version's layout are converted") {
  made_segment made;
  auto view = made.view();
  const auto about = view.context();
  fs::memory_sink<fs::step_record> sink;
  fs::detail::typed_sink<fs::memory_sink<fs::step_record>, fs::step_record> bound(sink);
  fs::detail::record_route* route = bound.route(1, registered<other_step>(made));
  REQUIRE(route != nullptr);
  other_step foreign[3];
  for (int i = 0; i < 3; ++i) {
    foreign[i].header = {9, sizeof(other_step), 5, 100U + static_cast<unsigned>(i)};
    foreign[i].number = -i;
    foreign[i].added = 1234;
    foreign[i].end = 200;
  }
  route->deliver(reinterpret_cast<const unsigned char*>(foreign), 3, about);
  const auto& got = sink.all<fs::step_record>();
  REQUIRE(got.size() == 3);
  CHECK(got[2].number == -2);
  CHECK(got[2].end == 200);
  CHECK(got[2].header.ticks == 102);
  CHECK(got[2].header.thread == 5);
  CHECK(got[2].header.size == sizeof(fs::step_record));
}

TEST_CASE("session.sink_binding: optional members are used where they are") {
  made_segment made;
  auto view = made.view();
  const auto about = view.context();
  talkative loud;
  silent quiet;
  fs::detail::typed_sink<talkative, fs::step_record> first(loud);
  fs::detail::typed_sink<silent, fs::step_record> second(quiet);
  for (fs::detail::bound_sink* sink : {static_cast<fs::detail::bound_sink*>(&first),
                                       static_cast<fs::detail::bound_sink*>(&second)}) {
    sink->flush(about);
    sink->finish(about);
  }
  CHECK(loud.flushes == 1);
  CHECK(loud.finishes == 1);
  CHECK(first.status() == fs::errc::no_space);
  CHECK(first.lost_total() == 4);
  CHECK(first.filtered_total() == 2);
  CHECK(second.status() == fs::errc::ok);
  CHECK(second.lost_total() == 0);
  CHECK(second.filtered_total() == 0);
}

TEST_CASE("session.sink_binding: a member that lies outside its type is not there") {
  made_segment made;
  auto& entry = made.base().types[made.type<fs::step_record>() - 1];
  entry.fields[0].offset = static_cast<std::uint16_t>(entry.bytes - 4);
  const auto find = fs::detail::field_finder<fs::step_record>(entry);
  CHECK(find("end").type == fs::field_type::none);
  CHECK(find("number").type == fs::field_type::i64);
  CHECK(find("nothing").type == fs::field_type::none);
  std::memset(entry.fields[1].name, 'x', sizeof entry.fields[1].name);  // no NUL
  CHECK(find("number").type == fs::field_type::none);
}
