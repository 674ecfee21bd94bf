// SPDX-License-Identifier: Apache-2.0
// What the concepts of the event folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/event/attribute_record.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/stats/rows.hpp>
#include <string>
#include <support/archetypes/event.hpp>

namespace fs = fabscope;

namespace concepts_event {

using archetypes::record;
using archetypes::summary;

// Records that differ from one in a single thing.
template <class Header, class Member, bool Row = false>
struct record_with {
  Header header;
  Member member;
  static constexpr const char* type_name = "record_with";
  static constexpr bool is_row = Row;
  static constexpr fs::field fields[] = {{"member", "", 16, fs::field_type::u64}};
};
struct words {
  std::uint64_t word[7];
};
struct alignas(16) strict {
  std::uint64_t word[2];
};
struct nameless {
  fs::record_header header;
  std::uint64_t number;
  static constexpr bool is_row = false;
  static constexpr fs::field fields[] = {{"number", "", 16, fs::field_type::u64}};
};
struct fieldless {
  fs::record_header header;
  std::uint64_t number;
  static constexpr const char* type_name = "fieldless";
  static constexpr bool is_row = false;
};
struct undecided {
  fs::record_header header;
  std::uint64_t number;
  static constexpr const char* type_name = "undecided";
  static constexpr fs::field fields[] = {{"number", "", 16, fs::field_type::u64}};
};
struct derived : record {
  std::uint64_t more;
};
struct headless {
  std::uint64_t number;
  static constexpr const char* type_name = "headless";
  static constexpr bool is_row = false;
  static constexpr fs::field fields[] = {{"number", "", 0, fs::field_type::u64}};
};

static_assert(fs::event_record<record>);
static_assert(fs::event_record<fs::scope_record>);
static_assert(fs::event_record<fs::step_record>);
static_assert(fs::event_record<fs::attribute_record>);
static_assert(fs::event_record<fs::operation_record>);
static_assert(fs::event_record<record_with<fs::record_header, std::uint64_t>>);
static_assert(!fs::event_record<record_with<std::uint64_t, std::uint64_t>>);
static_assert(!fs::event_record<record_with<fs::record_header, words>>, "more than a slot");
static_assert(!fs::event_record<record_with<fs::record_header, strict>>);
static_assert(!fs::event_record<record_with<fs::record_header, std::string>>);
static_assert(!fs::event_record<record_with<fs::record_header, std::uint64_t, true>>, "a row");
static_assert(!fs::event_record<nameless>);
static_assert(!fs::event_record<fieldless>);
static_assert(!fs::event_record<undecided>);
static_assert(!fs::event_record<headless>);
static_assert(!fs::event_record<derived>, "two classes with members have no agreed layout");
static_assert(!fs::event_record<summary>);
static_assert(!fs::event_record<int>);

template <class Member, bool Row = true>
struct row_with {
  std::uint64_t used;
  Member member;
  static constexpr const char* type_name = "row_with";
  static constexpr bool is_row = Row;
  static constexpr fs::field fields[] = {{"member", "", 8, fs::field_type::u64}};
};
struct part {
  std::uint32_t word[3];
};
struct small_row {
  std::uint32_t used;
  static constexpr const char* type_name = "small_row";
  static constexpr bool is_row = true;
  static constexpr fs::field fields[] = {{"used", "", 0, fs::field_type::u32}};
};
struct nameless_row {
  std::uint64_t used;
  static constexpr bool is_row = true;
  static constexpr fs::field fields[] = {{"used", "", 0, fs::field_type::u64}};
};

static_assert(fs::summary_row<summary>);
static_assert(fs::summary_row<fs::scope_row>);
static_assert(fs::summary_row<row_with<part>>);
static_assert(!fs::summary_row<row_with<std::string>>);
static_assert(!fs::summary_row<row_with<std::uint64_t, false>>);
static_assert(!fs::summary_row<small_row>, "not whole words");
static_assert(!fs::summary_row<nameless_row>);
static_assert(!fs::summary_row<record>);
static_assert(!fs::summary_row<int>);

}  // namespace concepts_event
