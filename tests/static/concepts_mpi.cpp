// SPDX-License-Identifier: Apache-2.0
// What the concepts of the mpi folder accept and refuse. They need no MPI. Compiling is the test.
#include <cstdint>
#include <fabscope/mpi/concepts.hpp>
#include <fabscope/mpi/scope_sums.hpp>
#include <fabscope/stats/counter_rate.hpp>
#include <fabscope/stats/histogram.hpp>
#include <fabscope/stats/moments.hpp>
#include <fabscope/stats/real_moments.hpp>
#include <fabscope/stats/sparse_histogram.hpp>
#include <fabscope/stats/top_k.hpp>
#include <string>
#include <support/archetypes/mpi.hpp>
#include <support/archetypes/stats.hpp>

namespace fs = fabscope;

namespace {

struct throwing {
  void merge(const throwing&);
};
struct owning {
  std::string text;
  void merge(const owning&) noexcept;
};
struct changes_the_other {
  void merge(changes_the_other&) noexcept;
};
struct without_empty {
  explicit without_empty(int);
  void merge(const without_empty&) noexcept;
};

static_assert(fs::mpi::mergeable<archetypes::mergeable>);
static_assert(fs::mpi::mergeable<archetypes::accumulator>);
static_assert(fs::mpi::mergeable<fs::histogram<5>>);
static_assert(fs::mpi::mergeable<fs::sparse_histogram<64>>);
static_assert(fs::mpi::mergeable<fs::moments>);
static_assert(fs::mpi::mergeable<fs::real_moments>);
static_assert(fs::mpi::mergeable<fs::top_k<8>>);
static_assert(fs::mpi::mergeable<fs::mpi::scope_sums>);
static_assert(!fs::mpi::mergeable<throwing>);
static_assert(!fs::mpi::mergeable<owning>, "it would travel as its pointer");
static_assert(!fs::mpi::mergeable<changes_the_other>);
static_assert(!fs::mpi::mergeable<without_empty>);
static_assert(!fs::mpi::mergeable<archetypes::mergeable*>);
static_assert(!fs::mpi::mergeable<fs::counter_rate>, "samples in order cannot be added up");
static_assert(!fs::mpi::mergeable<int>);

}  // namespace
