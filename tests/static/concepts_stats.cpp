// SPDX-License-Identifier: Apache-2.0
// What the concepts of the stats folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/histogram.hpp>
#include <fabscope/stats/interval_union.hpp>
#include <fabscope/stats/row_table.hpp>
#include <string>
#include <type_traits>

namespace {

struct archetype {
  void record(std::uint64_t) noexcept;
  void merge(const archetype&) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
};
struct throwing : archetype {
  void record(std::uint64_t);
  void merge(const throwing&) noexcept;
};
struct unmergeable {
  void record(std::uint64_t) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
};
struct owning : archetype {
  void merge(const owning&) noexcept;
  std::string text;
};

static_assert(fabscope::accumulator<archetype>);
static_assert(fabscope::accumulator<fabscope::histogram<5>>);
static_assert(fabscope::accumulator<fabscope::histogram<7, std::uint64_t>>);
static_assert(!fabscope::accumulator<throwing>);
static_assert(!fabscope::accumulator<unmergeable>);
static_assert(!fabscope::accumulator<owning>);
static_assert(!fabscope::accumulator<int>);

struct good_row {
  using key_type = std::uint64_t;
  std::uint64_t used;
  std::uint64_t name;
  [[nodiscard]] key_type key() const noexcept { return name; }
  void set_key(key_type k) noexcept { name = k; }
};
struct padded_key {
  std::uint64_t a;
  std::uint32_t b;
};
template <class Key, class Used = std::uint64_t>
struct row_with {
  using key_type = Key;
  Used used;
  Key name;
  [[nodiscard]] key_type key() const noexcept { return name; }
  void set_key(const key_type& k) noexcept { name = k; }
};
struct wide_key {
  std::uint64_t word[4];
};
struct no_set_key {
  using key_type = std::uint64_t;
  std::uint64_t used;
  [[nodiscard]] key_type key() const noexcept { return 0; }
};

static_assert(fabscope::keyed_row<good_row>);
static_assert(fabscope::keyed_row<row_with<std::uint64_t>>);
static_assert(!fabscope::keyed_row<row_with<std::uint32_t>>);
static_assert(!fabscope::keyed_row<row_with<padded_key>>);
static_assert(!fabscope::keyed_row<row_with<wide_key>>);
static_assert(!fabscope::keyed_row<row_with<double>>);
static_assert(!fabscope::keyed_row<row_with<std::uint64_t, bool>>);
static_assert(!fabscope::keyed_row<no_set_key>);
static_assert(!fabscope::keyed_row<int>);

// Zeroed, shared memory holds these as they are.
static_assert(std::is_standard_layout_v<fabscope::histogram<5>>);
static_assert(sizeof(fabscope::histogram<3>) == 32 + 320 * 4);
static_assert(std::is_trivially_copyable_v<fabscope::interval_merger>);
static_assert(std::is_trivially_destructible_v<fabscope::row_table<good_row>>);
static_assert(fabscope::row_table<good_row>::index_bytes(4096) == 8192 * 4);

}  // namespace
