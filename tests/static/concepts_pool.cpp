// SPDX-License-Identifier: Apache-2.0
// What the concepts of the pool folder accept and refuse. Compiling is the test.
#include <atomic>
#include <cstdint>
#include <fabscope/pool/concepts.hpp>
#include <fabscope/pool/slot_pool.hpp>
#include <string>

namespace {

struct plain {
  int value = 0;
};
struct with_atomic {
  std::atomic<int> value;
};
struct alignas(64) lending {
  unsigned char foreign[64];
  fabscope::slot_tag pool_tag;
};
class constructed {
 public:
  constructed() noexcept : value_(1) {}
  [[nodiscard]] int value() const noexcept { return value_; }

 private:
  int value_;
};

static_assert(fabscope::poolable<plain>);
static_assert(fabscope::poolable<with_atomic>);
static_assert(fabscope::poolable<lending>);
static_assert(fabscope::poolable<int>);
static_assert(!fabscope::poolable<std::string>);
static_assert(!fabscope::poolable<constructed>);
static_assert(!fabscope::poolable<int&>);

struct archetype {
  using value_type = int;
  struct magazine {};
  int* get(magazine&) noexcept;
  void put(magazine&, int*) noexcept;
  void drain(magazine&) noexcept;
  int* find(fabscope::handle) noexcept;
  [[nodiscard]] fabscope::handle handle_of(const int*) const noexcept;
  [[nodiscard]] bool owns(const void*) const noexcept;
  [[nodiscard]] std::uint64_t refused_total() const noexcept;
  [[nodiscard]] std::uint32_t in_use() const noexcept;
};
struct throwing_get : archetype {
  int* get(magazine&);
};
struct silent_refusal : archetype {
  void refused_total() const noexcept;
};
struct no_find : archetype {
  void find(fabscope::handle) noexcept;
};

static_assert(fabscope::event_pool<archetype>);
static_assert(fabscope::event_pool<fabscope::slot_pool<plain>>);
static_assert(fabscope::event_pool<fabscope::slot_pool<lending>>);
static_assert(!fabscope::event_pool<throwing_get>);
static_assert(!fabscope::event_pool<silent_refusal>);
static_assert(!fabscope::event_pool<no_find>);
static_assert(!fabscope::event_pool<int>);

// A pool can be constant-initialised, and a magazine lie in a thread's zeroed memory.
constinit fabscope::slot_pool<plain> global;
static_assert(std::is_trivially_destructible_v<fabscope::slot_pool<plain>::magazine>);
static_assert(sizeof(fabscope::slot_pool<plain>::magazine) == 264);
[[maybe_unused]] const void* const use = &global;

}  // namespace
