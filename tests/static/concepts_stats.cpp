// SPDX-License-Identifier: Apache-2.0
// What the concepts of the stats folder accept and refuse. Compiling is the test.
#include <cstdint>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/counter_rate.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/histogram.hpp>
#include <fabscope/stats/interval_union.hpp>
#include <fabscope/stats/moments.hpp>
#include <fabscope/stats/real_moments.hpp>
#include <fabscope/stats/row_table.hpp>
#include <fabscope/stats/rows.hpp>
#include <fabscope/stats/sparse_histogram.hpp>
#include <fabscope/stats/top_k.hpp>
#include <string>
#include <support/archetypes/stats.hpp>
#include <type_traits>

namespace fs = fabscope;

namespace {

struct throwing_record : archetypes::accumulator {
  void record(std::uint64_t);
  void merge(const throwing_record&) noexcept;
};
struct throwing_merge : archetypes::accumulator {
  void merge(const throwing_merge&);
};
struct unmergeable {
  void record(std::uint64_t) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
};
struct countless : archetypes::accumulator {
  void merge(const countless&) noexcept;
  void count() const noexcept;
};
struct owning : archetypes::accumulator {
  void merge(const owning&) noexcept;
  std::string text;
};

static_assert(fs::accumulator<archetypes::accumulator>);
static_assert(fs::accumulator<fs::histogram<5>>);
static_assert(fs::accumulator<fs::histogram<7, std::uint64_t>>);
static_assert(fs::accumulator<fs::sparse_histogram<64>>);
static_assert(fs::accumulator<fs::moments>);
static_assert(!fs::accumulator<throwing_record>);
static_assert(!fs::accumulator<throwing_merge>);
static_assert(!fs::accumulator<unmergeable>);
static_assert(!fs::accumulator<countless>);
static_assert(!fs::accumulator<owning>);
static_assert(!fs::accumulator<fs::top_k<8>>, "it takes keys, not values");
static_assert(!fs::accumulator<fs::counter_rate>, "samples in order cannot be added up");
static_assert(!fs::accumulator<int>);

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
struct full_key {
  std::uint64_t word[3];
};
struct no_set_key {
  using key_type = std::uint64_t;
  std::uint64_t used;
  [[nodiscard]] key_type key() const noexcept { return 0; }
};
struct throwing_key : archetypes::keyed_row {
  [[nodiscard]] key_type key() const;
};
struct throwing_set_key : archetypes::keyed_row {
  void set_key(key_type);
};
struct no_key_type {
  std::uint64_t used;
};

static_assert(fs::keyed_row<archetypes::keyed_row>);
static_assert(fs::keyed_row<fs::scope_row>);
static_assert(fs::keyed_row<fs::link_row>);
static_assert(fs::keyed_row<row_with<std::uint64_t>>);
static_assert(fs::keyed_row<row_with<full_key>>);
static_assert(!fs::keyed_row<row_with<std::uint32_t>>, "keys are whole words");
static_assert(!fs::keyed_row<row_with<padded_key>>, "bytes of no value would be compared");
static_assert(!fs::keyed_row<row_with<wide_key>>, "more than 24 bytes");
static_assert(!fs::keyed_row<row_with<double>>, "equal numbers with different bytes");
static_assert(!fs::keyed_row<row_with<std::uint64_t, bool>>);
static_assert(!fs::keyed_row<no_set_key>);
static_assert(!fs::keyed_row<throwing_key>);
static_assert(!fs::keyed_row<throwing_set_key>);
static_assert(!fs::keyed_row<no_key_type>);
static_assert(!fs::keyed_row<int>);

// Zeroed, shared memory holds these as they are.
static_assert(std::is_standard_layout_v<fs::histogram<5>>);
static_assert(sizeof(fs::histogram<3>) == 32 + 320 * 4);
static_assert(std::is_trivially_copyable_v<fs::interval_merger>);
static_assert(std::is_trivially_destructible_v<fs::row_table<archetypes::keyed_row>>);
static_assert(fs::row_table<archetypes::keyed_row>::index_bytes(4096) == 8192 * 4);
static_assert(std::is_standard_layout_v<fs::moments> && sizeof(fs::moments) == 64);
static_assert(std::is_trivially_copyable_v<fs::real_moments>);
static_assert(std::is_trivially_copyable_v<fs::top_k<16>>);
static_assert(std::is_trivially_copyable_v<fs::counter_rate>);
static_assert(std::is_trivially_copyable_v<fs::sparse_histogram<64>>);

}  // namespace

template class fs::row_table<archetypes::keyed_row>;
