// SPDX-License-Identifier: Apache-2.0
// For comparison: what it costs to sum a value, alone and by key.
#include <benchmark/benchmark.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <fabscope/stats/histogram.hpp>
#include <fabscope/stats/row_table.hpp>
#include <fabscope/stats/rows.hpp>

#include <support/row.hpp>

namespace bench {
namespace {

constexpr std::size_t values = 4096;
constexpr std::uint64_t keys = 64;

/// Prepared values of a few microseconds with a long tail, and the key each belongs to.
struct sample {
  std::uint64_t key;
  std::uint64_t value;
};
const std::vector<sample>& samples() {
  static const std::vector<sample> all = [] {
    std::vector<sample> out;
    std::uint64_t x = 88172645463325252U;
    for (std::size_t i = 0; i < values; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      out.push_back({x % keys, 2000 + (x >> 20) % (i % 50 == 0 ? 1000000U : 3000U)});
    }
    return out;
  }();
  return all;
}

template <class Take>
lane over_samples(const char* name, Take take) {
  return {name, [take](std::size_t n, unsigned) mutable {
            const std::vector<sample>& from = samples();
            for (std::size_t i = 0; i < n; ++i) take(from[i % values]);
          }};
}

lane our_histogram() {
  auto sums = std::make_shared<fabscope::histogram<5>>();
  return over_samples("histogram", [sums](const sample& s) { sums->record(s.value); });
}

lane our_table() {
  struct state {
    fabscope::row_table<fabscope::scope_row> table;
    std::vector<fabscope::scope_row> lines = std::vector<fabscope::scope_row>(256);
    std::vector<std::uint32_t> index =
        std::vector<std::uint32_t>(fabscope::row_table<fabscope::scope_row>::index_bytes(256) / 4);
    state() { table.attach(lines.data(), 256, index.data()); }
  };
  auto live = std::make_shared<state>();
  return over_samples("row_table", [live](const sample& s) {
    live->table.find_or_insert({s.key}).add(s.value, 64);
  });
}

lane map_and_mutex() {
  struct sum {
    std::uint64_t count, total, least, most;
  };
  struct state {
    std::mutex lock;
    std::unordered_map<std::uint64_t, sum> sums;
  };
  auto live = std::make_shared<state>();
  return over_samples("unordered_map + mutex", [live](const sample& s) {
    const std::lock_guard<std::mutex> guard(live->lock);
    sum& to = live->sums.try_emplace(s.key, sum{0, 0, ~std::uint64_t{0}, 0}).first->second;
    ++to.count;
    to.total += s.value;
    if (s.value < to.least) to.least = s.value;
    if (s.value > to.most) to.most = s.value;
  });
}

}  // namespace

void add_sum_rows() {
  const char* against = "two bare clock reads";
  rows().push_back({"sum/histogram", against, 0, {our_histogram(), two_reads()}});
  rows().push_back({"sum/row_table_64_keys", against, 0, {our_table(), two_reads()}});
  rows().push_back({"sum/unordered_map_and_mutex", against, 0, {map_and_mutex(), two_reads()}});
}

}  // namespace bench
