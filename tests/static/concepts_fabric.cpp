// SPDX-License-Identifier: Apache-2.0
// What the concept of the fabric folder accepts and refuses. Compiling is the test.
#include <cstdint>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/timing.hpp>
#include <support/archetypes/fabric.hpp>

namespace fs = fabscope;

namespace {

using fs::fabric::operation_policy;
using archetype = archetypes::operation_policy;

struct throwing_enter : archetype {
  static thread* enter();
};
struct no_depth : archetype {
  struct thread {};
  static thread* enter() noexcept;
};
struct throwing_issue : archetype {
  static attempt issue(thread&, fs::fabric::endpoint&, fs::fabric::request&);
};
struct other_attempt : archetype {
  static int issue(thread&, fs::fabric::endpoint&, fs::fabric::request&) noexcept;
};
struct throwing_issued : archetype {
  static void issued(thread&, fs::fabric::endpoint&, const fs::fabric::request&, attempt&,
                     std::int64_t);
};
struct throwing_polled : archetype {
  static void polled(thread&, fs::fabric::completion_queue&, const fs::fabric::poll&);
};
struct throwing_restore : archetype {
  static void restore(fs::fabric::completion_queue&, const fs::fabric::poll&);
};
struct silent_cancel : archetype {
  static void cancel(fs::fabric::endpoint&, void*, ssize_t (*)(void*)) noexcept;
};
struct closes_endpoints_only : archetype {
  static void closed(fs::fabric::endpoint&) noexcept;
};
struct throwing_counted : archetype {
  static void counted(thread&, fs::fabric::counter&, std::uint64_t, std::uint64_t);
};
struct no_begin : archetype {
  static void control_begins() noexcept;
};
struct no_nested : archetype {
  static void nested() noexcept;
};

static_assert(operation_policy<archetype>);
static_assert(operation_policy<fs::fabric::passive_policy>);
static_assert(!operation_policy<throwing_enter>);
static_assert(!operation_policy<no_depth>);
static_assert(!operation_policy<throwing_issue>);
static_assert(!operation_policy<other_attempt>);
static_assert(!operation_policy<throwing_issued>);
static_assert(!operation_policy<throwing_polled>);
static_assert(!operation_policy<throwing_restore>);
static_assert(!operation_policy<silent_cancel>);
static_assert(!operation_policy<closes_endpoints_only>);
static_assert(!operation_policy<throwing_counted>);
static_assert(!operation_policy<no_begin>);
static_assert(!operation_policy<no_nested>);
static_assert(!operation_policy<int>);

}  // namespace
