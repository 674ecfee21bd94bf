// SPDX-License-Identifier: Apache-2.0
// What the concepts of the pool folder accept and refuse. Compiling is the test.
#include <atomic>
#include <cstdint>
#include <fabscope/pool/concepts.hpp>
#include <fabscope/pool/slot_pool.hpp>
#include <string>
#include <support/archetypes/core.hpp>
#include <support/archetypes/pool.hpp>
#include <type_traits>

namespace fs = fabscope;

namespace {

using archetypes::pooled;

struct plain {
  int value = 0;
};
struct with_atomic {
  std::atomic<int> value;
};
struct alignas(64) lending {
  unsigned char foreign[64];
  fs::slot_tag pool_tag;
};
class constructed {
 public:
  constructed() noexcept : value_(1) {}
  [[nodiscard]] int value() const noexcept { return value_; }

 private:
  int value_;
};

static_assert(fs::poolable<pooled>);
static_assert(fs::poolable<plain>);
static_assert(fs::poolable<with_atomic>);
static_assert(fs::poolable<lending>);
static_assert(fs::poolable<int>);
static_assert(!fs::poolable<std::string>);
static_assert(!fs::poolable<constructed>);
static_assert(!fs::poolable<int&>);
static_assert(!fs::poolable<void>);
static_assert(fs::detail::lends_tag<lending>);
static_assert(!fs::detail::lends_tag<plain>);

struct throwing_get : archetypes::pool {
  pooled* get(magazine&);
};
struct get_by_value : archetypes::pool {
  pooled get(magazine&) noexcept;
};
struct throwing_put : archetypes::pool {
  void put(magazine&, pooled*);
};
struct throwing_drain : archetypes::pool {
  void drain(magazine&);
};
struct no_find : archetypes::pool {
  void find(fs::handle) noexcept;
};
struct no_handle : archetypes::pool {
  void handle_of(const pooled*) const noexcept;
};
struct unsure_owner : archetypes::pool {
  int owns(const pooled*) const noexcept;
};
struct silent_refusal : archetypes::pool {
  void refused_total() const noexcept;
};
struct no_count : archetypes::pool {
  void in_use() const noexcept;
};
struct no_magazine {
  using value_type = int;
};

static_assert(fs::event_pool<archetypes::pool>);
static_assert(fs::event_pool<fs::slot_pool<pooled>>);
static_assert(fs::event_pool<fs::slot_pool<lending>>);
static_assert(!fs::event_pool<throwing_get>);
static_assert(!fs::event_pool<get_by_value>);
static_assert(!fs::event_pool<throwing_put>);
static_assert(!fs::event_pool<throwing_drain>);
static_assert(!fs::event_pool<no_find>);
static_assert(!fs::event_pool<no_handle>);
static_assert(!fs::event_pool<unsure_owner>);
static_assert(!fs::event_pool<silent_refusal>);
static_assert(!fs::event_pool<no_count>);
static_assert(!fs::event_pool<no_magazine>);
static_assert(!fs::event_pool<int>);

// A pool can be constant-initialised, and a magazine lie in a thread's zeroed memory.
constinit fs::slot_pool<plain> global;
static_assert(std::is_trivially_destructible_v<fs::slot_pool<plain>::magazine>);
static_assert(sizeof(fs::slot_pool<plain>::magazine) == 272);
[[maybe_unused]] const void* const use = &global;

}  // namespace

// The pool asks no more of what it holds than poolable does.
template class fs::slot_pool<archetypes::pooled>;
template class fs::slot_pool<archetypes::pooled, archetypes::accessor>;
