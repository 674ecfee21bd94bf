// SPDX-License-Identifier: Apache-2.0
// Rings, pools and sums.
#include "measure.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <fabscope/pool/slot_pool.hpp>
#include <fabscope/ring/mpsc_ring.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <fabscope/stats/histogram.hpp>

namespace fs = fabscope;

namespace instructions {
namespace {

struct record {
  std::uint64_t word[8];
};
struct object {
  std::uint64_t word[15];
};

void rings() {
  const auto fill = [](record& one, std::size_t i) {
    one.word[0] = i;
    one.word[7] = ~i;
  };
  auto spsc = std::move(fs::spsc_ring<record>::create(4096).value());
  auto mpsc = std::move(fs::mpsc_ring<record>::create(4096).value());
  const auto nobody = [](auto&&) noexcept {};
  record one{};
  row(
      "ring_drained",
      [&](std::size_t i) {
        fill(one, i);
        (void)spsc.try_push(one);
      },
      [&] { (void)spsc.consume(nobody); });
  row(
      "ring_drained/mpsc_ring",
      [&](std::size_t i) {
        fill(one, i);
        (void)mpsc.try_push(one);
      },
      [&] { (void)mpsc.consume(nobody); });
  std::uint64_t head = 0;
  std::vector<fs::slot_line> lines(4096);
  fs::overwrite_writer writer(&head, lines.data(), 4095);
  row("ring_drained/overwrite_ring", [&](std::size_t i) {
    fill(one, i);
    writer.push(one);
  });
}

void pools() {
  fs::slot_pool<object> pool;
  if (pool.reserve(1024) != fs::errc::ok) std::puts("no pool");
  fs::slot_pool<object>::magazine mine;
  object* held[8];
  for (object*& each : held) each = pool.get(mine);
  row("pool_cycle", [&](std::size_t i) {
    object*& oldest = held[i % 8];
    pool.put(mine, oldest);
    oldest = pool.get(mine);
    oldest->word[0] = i;
  });
  // Twenty at a time, got here and put there: batches go through the shared list.
  fs::slot_pool<object>::magazine other;
  object* many[20];
  row("pool_cycle/shared_list", [&](std::size_t) {
    for (object*& each : many) each = pool.get(mine);
    for (object* each : many) pool.put(other, each);
  });
}

void sums() {
  fs::histogram<5> sums;
  row("histogram", [&](std::size_t i) { sums.record(2000 + i % 3000); });
}

}  // namespace

void containers() {
  rings();
  pools();
  sums();
}

}  // namespace instructions
