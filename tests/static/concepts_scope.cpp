// SPDX-License-Identifier: Apache-2.0
// What the concepts of the scope folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/scope/attribute.hpp>
#include <fabscope/scope/basic_scope.hpp>
#include <fabscope/scope/chained.hpp>
#include <fabscope/scope/concepts.hpp>
#include <fabscope/scope/null_recorder.hpp>
#include <string>
#include <support/archetypes/scope.hpp>
#include <type_traits>

namespace fs = fabscope;

namespace {

struct no_name {};
struct numbered {
  static constexpr int name = 3;
};
struct member_name {
  const char* name() const { return "member"; }
};

static_assert(fs::scope_domain<archetypes::domain>);
static_assert(fs::scope_domain<fs::default_domain>);
static_assert(!fs::scope_domain<no_name>);
static_assert(!fs::scope_domain<numbered>);
static_assert(!fs::scope_domain<member_name>);
static_assert(!fs::scope_domain<int>);

struct throwing_begin : archetypes::recorder {
  static token begin(fs::site&);
};
struct throwing_end : archetypes::recorder {
  static void end(token&, std::uint64_t, std::int64_t);
};
struct needs_an_object : archetypes::recorder {
  token begin(fs::site&) noexcept;
};
struct answering_end : archetypes::recorder {
  static bool end(token&, std::uint64_t, std::int64_t) noexcept;
};
struct other_token : archetypes::recorder {
  static int begin(fs::site&) noexcept;
};
struct owning_token {
  using token = std::string;
  static token begin(fs::site&) noexcept;
  static void end(token&, std::uint64_t, std::int64_t) noexcept;
};
struct no_token {
  static int begin(fs::site&) noexcept;
  static void end(int&, std::uint64_t, std::int64_t) noexcept;
};

static_assert(fs::scope_recorder<archetypes::recorder>);
static_assert(fs::scope_recorder<archetypes::chaining_recorder>);
static_assert(fs::scope_recorder<fs::null_recorder>);
static_assert(fs::scope_recorder<fs::session_recorder<true>>);
static_assert(fs::scope_recorder<fs::session_recorder<false>>);
static_assert(!fs::scope_recorder<throwing_begin>);
static_assert(!fs::scope_recorder<throwing_end>);
static_assert(!fs::scope_recorder<needs_an_object>);
static_assert(!fs::scope_recorder<answering_end>);
static_assert(!fs::scope_recorder<other_token>);
static_assert(!fs::scope_recorder<owning_token>);
static_assert(!fs::scope_recorder<no_token>);
static_assert(!fs::scope_recorder<int>);

struct throwing_next : archetypes::chaining_recorder {
  static void next(chain_token&, fs::site&, std::uint64_t, std::int64_t);
};
struct throwing_begin_chain : archetypes::chaining_recorder {
  static chain_token begin_chain(fs::site&);
};
struct no_end_of_chain : archetypes::recorder {
  struct chain_token {};
  static chain_token begin_chain(fs::site&) noexcept;
  static void next(chain_token&, fs::site&, std::uint64_t, std::int64_t) noexcept;
};
struct no_begin : archetypes::chaining_recorder {
  static void begin(fs::site&) noexcept;
};

static_assert(fs::chaining_recorder<archetypes::chaining_recorder>);
static_assert(fs::chaining_recorder<fs::null_recorder>);
static_assert(fs::chaining_recorder<fs::session_recorder<true>>);
static_assert(!fs::chaining_recorder<archetypes::recorder>);
static_assert(!fs::chaining_recorder<throwing_next>);
static_assert(!fs::chaining_recorder<throwing_begin_chain>);
static_assert(!fs::chaining_recorder<no_end_of_chain>);
static_assert(!fs::chaining_recorder<no_begin>, "every chaining recorder is a recorder");
static_assert(!fs::chaining_recorder<int>);

struct value {};
static_assert(fs::detail::attribute_value<int>);
static_assert(fs::detail::attribute_value<double>);
static_assert(fs::detail::attribute_value<const char*>);
static_assert(fs::detail::attribute_value<std::string>);
static_assert(!fs::detail::attribute_value<value>);
static_assert(!fs::detail::attribute_value<void*>);

// A scope stays where it was made.
using scope = fs::basic_scope<archetypes::recorder, archetypes::domain>;
static_assert(!std::is_copy_constructible_v<scope> && !std::is_move_constructible_v<scope>);
static_assert(!std::is_copy_assignable_v<scope> && !std::is_move_assignable_v<scope>);

}  // namespace

template class fs::basic_scope<archetypes::recorder, archetypes::domain>;
template class fs::basic_phases<archetypes::chaining_recorder, archetypes::domain>;
