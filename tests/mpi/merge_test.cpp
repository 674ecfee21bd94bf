// SPDX-License-Identifier: Apache-2.0
// Run by mpirun with some ranks: what is merged is compared with what one rank computes alone,
// since every rank knows what the others recorded. Not doctest: each rank is a process.
#include <fabscope/mpi/merge.hpp>
#include <fabscope/mpi/scopes.hpp>
#include <fabscope/session.hpp>
#include <fabscope/stats/moments.hpp>
#include <fabscope/stats/real_moments.hpp>
#include <fabscope/stats/sparse_histogram.hpp>
#include <fabscope/stats/top_k.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace fs = fabscope;
using namespace fabscope::literals;

namespace {

int my_rank = 0;
int ranks = 0;
int failures = 0;

void check(bool good, const char* what, int line) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d, line %d: %s\n", my_rank, line, what);
}
#define CHECK(...) check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __LINE__)

std::uint64_t value_of(int rank, std::uint64_t i) {
  return (static_cast<std::uint64_t>(rank) + 1) * 1000003 * (i + 1) % 900001 + 17;
}

/// What each rank records, and all of them one after the other.
template <class T>
void fill(T& into, int rank) {
  for (std::uint64_t i = 0; i < 500; ++i) into.record(value_of(rank, i));
}

template <class T>
void same_bytes_as_one_rank(int line) {
  T mine{};
  T expected{};
  fill(mine, my_rank);
  for (int rank = 0; rank < ranks; ++rank) fill(expected, rank);
  const int root = ranks - 1;
  const auto at_root = fs::mpi::merge(mine, MPI_COMM_WORLD, root);
  check(at_root.has_value(), "merge", line);
  const T empty{};
  const T& wanted = my_rank == root ? expected : empty;
  check(std::memcmp(&*at_root, &wanted, sizeof wanted) == 0, "the root has the sum, others nothing",
        line);
  const auto everywhere = fs::mpi::merge_everywhere(mine, MPI_COMM_WORLD);
  check(everywhere.has_value() && std::memcmp(&*everywhere, &expected, sizeof expected) == 0,
        "every rank has the sum", line);
}

void narrow_counters_do_not_overflow() {
  fs::histogram<3, std::uint8_t> mine;
  for (int i = 0; i < 255; ++i) mine.record(5);
  const auto all = fs::mpi::merge_everywhere(mine, MPI_COMM_WORLD);
  const auto expected = static_cast<std::uint64_t>(255 * ranks);
  CHECK(all.has_value() && all->count_at_bucket(5) == expected && all->count() == expected);
}

void keys_and_real_numbers() {
  fs::top_k<4> mine;
  mine.add(7, 1000);
  mine.add(static_cast<std::uint64_t>(my_rank) + 100, 1);
  const auto top = fs::mpi::merge(mine, MPI_COMM_WORLD);
  CHECK(top.has_value());
  if (my_rank == 0) {
    const auto* seven = top->find(7);
    CHECK(seven != nullptr && seven->sum - seven->error <= 1000U * static_cast<unsigned>(ranks) &&
          seven->sum >= 1000U * static_cast<unsigned>(ranks));
    CHECK(top->total() == 1001U * static_cast<unsigned>(ranks));
  }
  fs::real_moments rate;
  rate.record(1.0 + my_rank);
  const auto rates = fs::mpi::merge_everywhere(rate, MPI_COMM_WORLD);
  CHECK(rates.has_value() && rates->count() == static_cast<std::uint64_t>(ranks));
  const double mean = (1.0 + ranks) / 2;
  CHECK(rates->mean() > mean * 0.999999 && rates->mean() < mean * 1.000001);
  CHECK((rates->min)() == 1.0 && (rates->max)() == static_cast<double>(ranks));
}

/// Ranks that disagree about the layout are told so, all of them.
void refusals() {
  CHECK(fs::mpi::merge(fs::moments{}, MPI_COMM_WORLD, ranks).error() == fs::errc::invalid_argument);
  CHECK(fs::mpi::merge(fs::moments{}, MPI_COMM_WORLD, -1).error() == fs::errc::invalid_argument);
  CHECK(fs::mpi::merge(fs::moments{}, MPI_COMM_NULL).error() == fs::errc::invalid_argument);
  if (ranks == 1) return;
  fs::errc got = fs::errc::ok;
  if (my_rank == 0) {
    got = fs::mpi::merge(fs::histogram<5>{}, MPI_COMM_WORLD).error();
  } else {
    got = fs::mpi::merge(fs::histogram<6>{}, MPI_COMM_WORLD).error();
  }
  CHECK(got == fs::errc::invalid_argument);
}

const fs::mpi::named_scope_sums* find(const std::vector<fs::mpi::named_scope_sums>& all,
                                      const std::string& name) {
  for (const auto& one : all) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

/// Live scopes: one that all ranks have, one of rank 1 alone, in an order that differs by rank.
void scopes_by_name() {
  fs::options chosen;
  chosen.outputs = fs::output_none;
  chosen.run_level = fs::level::count;
  fs::session session(chosen);
  const int shared = 10 + my_rank;
  if (my_rank == 1) {
    for (int i = 0; i < 3; ++i) fs::scope one{"only rank 1"_name, 5};
  }
  for (int i = 0; i < shared; ++i) fs::scope one{"shared"_name, 100};
  const auto view = session.view();
  CHECK(view.has_value());
  const auto all = fs::mpi::merge_scopes(*view, MPI_COMM_WORLD);
  CHECK(all.has_value());
  if (my_rank != 0) {
    CHECK(all->empty());
    return;
  }
  CHECK(all->size() == (ranks > 1 ? 2U : 1U));
  const auto expected = static_cast<std::uint64_t>(10 * ranks + ranks * (ranks - 1) / 2);
  const auto* both = find(*all, "shared");
  CHECK(both != nullptr);
  if (both != nullptr) {
    CHECK(both->sums.count == expected && both->sums.bytes == 100 * expected);
    CHECK(both->sums.ranks == static_cast<std::uint64_t>(ranks));
    CHECK(both->sums.times.count() == expected);
    CHECK(both->sums.min_ns() <= both->sums.max_ns && both->sums.max_ns <= both->sums.sum_ns);
    CHECK(both->sums.imbalance() >= 1.0 &&
          both->sums.most_rank < static_cast<std::uint64_t>(ranks));
  }
  if (ranks > 1) {
    const auto* alone = find(*all, "only rank 1");
    CHECK(alone != nullptr && alone->sums.count == 3 && alone->sums.bytes == 15 &&
          alone->sums.ranks == 1 && alone->sums.most_rank == 1);
  }
}

/// Known times: rank r has (r + 1) scopes of 1000 ns, and names that only it has.
void known_sums(std::size_t most, bool all_fit) {
  std::vector<fs::mpi::named_scope_sums> mine;
  const auto add = [&mine](const std::string& name, std::uint64_t count, std::uint64_t each) {
    fs::mpi::named_scope_sums one{"known", name, {}};
    one.sums.count = count;
    one.sums.sum_ns = count * each;
    one.sums.inverted_min_ns = ~each;
    one.sums.max_ns = each;
    one.sums.ranks = 1;
    one.sums.most_sum_ns = count * each;
    one.sums.most_rank = static_cast<std::uint64_t>(my_rank);
    one.sums.times.record(each, count);
    mine.push_back(one);
  };
  const auto number = static_cast<std::uint64_t>(my_rank);
  add("a", number + 1, 1000);
  for (int i = 0; i < 3; ++i) add("own " + std::to_string(my_rank) + std::to_string(i), 2, 10);
  std::vector<fs::mpi::named_scope_sums> out;
  CHECK(fs::mpi::detail::merge_named(mine, MPI_COMM_WORLD, 0, my_rank, most, out) == fs::errc::ok);
  if (my_rank != 0) {
    CHECK(out.empty());
    return;
  }
  const auto count = static_cast<std::uint64_t>(ranks);
  std::uint64_t scopes = 0;
  for (const auto& one : out) scopes += one.sums.count;
  CHECK(scopes == count * (count + 1) / 2 + 6 * count);  // complete, with or without a name
  const auto* a = find(out, "a");
  CHECK(a != nullptr && a->sums.count == count * (count + 1) / 2);
  CHECK(a->sums.most_rank == count - 1 && a->sums.most_sum_ns == count * 1000);
  CHECK(a->sums.min_ns() == 1000 && a->sums.max_ns == 1000);
  CHECK(a->sums.times.quantile(0.5).value >= 992 && a->sums.times.quantile(0.5).value <= 1008);
  const auto* other = find(out, "(other)");
  CHECK(all_fit ? other == nullptr && out.size() == 1 + 3 * count
                : other != nullptr && other->sums.ranks == count);
}

}  // namespace

int main(int argc, char** argv) {
  if (fs::mpi::merge(fs::moments{}, MPI_COMM_WORLD).error() != fs::errc::unavailable) {
    std::fprintf(stderr, "merge() before MPI_Init did not say unavailable\n");
    return 1;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && std::to_string(ranks) != argv[1]) {
    std::fprintf(stderr, "%d ranks were started, not %s\n", ranks, argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  same_bytes_as_one_rank<fs::histogram<5, std::uint64_t>>(__LINE__);
  same_bytes_as_one_rank<fs::moments>(__LINE__);
  same_bytes_as_one_rank<fs::sparse_histogram<1024>>(__LINE__);
  narrow_counters_do_not_overflow();
  keys_and_real_numbers();
  refusals();
  scopes_by_name();
  known_sums(fs::mpi::detail::name_bytes, true);
  known_sums(40, false);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) std::printf("%d ranks: %d failures\n", ranks, all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
