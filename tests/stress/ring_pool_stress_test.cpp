// SPDX-License-Identifier: Apache-2.0
// Every ring and every pool under threads, checked by sums. A new model is added to the lists at
// the end of each part.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fabscope/pool/slot_pool.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <memory>
#include <vector>

namespace fs = fabscope;

namespace {

std::uint64_t iterations(std::uint64_t base) {
  const char* text = std::getenv("FABSCOPE_STRESS");
  const long factor = text != nullptr ? std::strtol(text, nullptr, 10) : 1;
  return base * static_cast<std::uint64_t>(factor > 0 ? factor : 1);
}

struct xorshift {
  std::uint64_t state;
  std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
};

// Runs body(0) to body(threads - 1), each in a thread of its own, all from the same moment.
template <class Body>
void in_threads(std::uint64_t threads, Body body) {
  struct argument {
    Body* body;
    std::uint64_t number;
    std::atomic<std::uint64_t>* missing;
  };
  std::atomic<std::uint64_t> missing{threads};
  std::vector<argument> arguments;
  for (std::uint64_t i = 0; i < threads; ++i) arguments.push_back({&body, i, &missing});
  std::vector<pthread_t> ids(threads);
  for (std::uint64_t i = 0; i < threads; ++i) {
    REQUIRE(pthread_create(
                &ids[i], nullptr,
                [](void* a) -> void* {
                  auto* mine = static_cast<argument*>(a);
                  mine->missing->fetch_sub(1, std::memory_order_acq_rel);
                  while (mine->missing->load(std::memory_order_acquire) != 0) sched_yield();
                  (*mine->body)(mine->number);
                  return nullptr;
                },
                &arguments[i]) == 0);
  }
  for (const pthread_t id : ids) pthread_join(id, nullptr);
}

// --- rings
// -------------------------------------------------------------------------------------------

struct message {
  std::uint64_t number;
  std::uint64_t echo[7];
};
message numbered(std::uint64_t n) { return {n, {n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6}}; }
bool intact(const message& m) {
  for (std::uint64_t i = 0; i < 7; ++i) {
    if (m.echo[i] != m.number + i) return false;
  }
  return true;
}

// Adapters that give each ring the same face: push, and pop into messages; lost() is what neither
// side saw.
template <class Ring>
struct queue_under_test {
  Ring ring;
  std::uint64_t refused = 0;
  void push(const message& m) { refused += ring.try_push(m) ? 0U : 1U; }
  std::size_t pop(std::span<message> out) { return ring.pop_batch(out); }
  [[nodiscard]] std::uint64_t lost() const { return ring.dropped_total(); }
  [[nodiscard]] bool consistent() const { return refused == ring.dropped_total(); }
};
template <std::size_t Capacity>
struct spsc_of : queue_under_test<fs::spsc_ring<message>> {
  spsc_of() { ring = std::move(fs::spsc_ring<message>::create(Capacity).value()); }
};
template <std::size_t Capacity>
struct overwrite_of {
  std::uint64_t head = 0;
  std::vector<fs::slot_line> slots = std::vector<fs::slot_line>(Capacity);
  fs::overwrite_writer writer{&head, slots.data(), Capacity - 1};
  fs::overwrite_reader reader{&head, slots.data(), Capacity - 1};
  fs::ring_cursor cursor;
  std::vector<fs::slot_line> lines = std::vector<fs::slot_line>(64);
  void push(const message& m) { writer.push(m); }
  std::size_t pop(std::span<message> out) {
    const auto batch =
        reader.poll(cursor, std::span(lines).first(out.size() < 64 ? out.size() : 64));
    for (std::size_t i = 0; i < batch.size(); ++i) std::memcpy(&out[i], &batch[i], sizeof(message));
    return batch.size();
  }
  [[nodiscard]] std::uint64_t lost() const { return cursor.overwritten; }
  [[nodiscard]] bool consistent() const {
    return cursor.read + cursor.overwritten == cursor.next && cursor.next == head;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("stress: a ring hands each record out once, in order, or counts it", Ring,
                   spsc_of<1>, spsc_of<16>, spsc_of<4096>, overwrite_of<2>, overwrite_of<64>,
                   overwrite_of<4096>) {
  const auto ring = std::make_unique<Ring>();
  const std::uint64_t total = iterations(100000);
  std::atomic<bool> done{false};
  std::uint64_t got = 0;
  std::uint64_t torn = 0;
  std::uint64_t disordered = 0;
  in_threads(2, [&](std::uint64_t side) {
    xorshift random{side + 1};
    if (side == 0) {
      for (std::uint64_t n = 0; n < total; ++n) {
        ring->push(numbered(n));
        if (random() % 64 == 0) sched_yield();
      }
      done.store(true, std::memory_order_release);
      return;
    }
    std::vector<message> out(64);
    std::uint64_t next = 0;
    for (;;) {
      const bool last = done.load(std::memory_order_acquire);
      const std::size_t n = ring->pop(std::span(out).first(1 + random() % 64));
      for (std::size_t i = 0; i < n; ++i) {
        torn += intact(out[i]) ? 0U : 1U;
        disordered += out[i].number >= next ? 0U : 1U;
        next = out[i].number + 1;
      }
      got += n;
      if (n == 0) {
        if (last) break;
        sched_yield();
      }
    }
  });
  CHECK(torn == 0);
  CHECK(disordered == 0);
  CHECK(got + ring->lost() == total);
  CHECK(got > 0);
  CHECK(ring->consistent());
}

// --- pools
// -------------------------------------------------------------------------------------------

namespace {

struct owned {
  std::uint64_t owner;  // 0: nobody's
  std::uint64_t check;
};
struct alignas(64) lending {
  unsigned char foreign[64];
  std::uint64_t owner;
  std::uint64_t check;
  fs::slot_tag pool_tag;
};

}  // namespace

TEST_CASE_TEMPLATE("stress: a pool never gives one slot to two, and gets all of them back", Pool,
                   fs::slot_pool<owned>, fs::slot_pool<lending>) {
  using object = typename Pool::value_type;
  constexpr std::uint64_t threads = 4;
  constexpr std::uint32_t capacity = 512;
  const auto pool = std::make_unique<Pool>();
  REQUIRE(pool->reserve(capacity, 77) == fs::errc::ok);
  const std::uint64_t rounds = iterations(20000);
  // From each thread to the next: objects are put by another thread than the one that got them.
  std::vector<fs::spsc_ring<object*>> lanes;
  for (std::uint64_t i = 0; i < threads; ++i) {
    lanes.push_back(std::move(fs::spsc_ring<object*>::create(64).value()));
  }
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> gets{0};
  std::atomic<std::uint64_t> puts{0};
  std::atomic<std::uint64_t> running{threads};
  in_threads(threads, [&](std::uint64_t me) {
    xorshift random{me + 1};
    typename Pool::magazine mine;
    std::vector<object*> held;
    std::uint64_t bad = 0;
    std::uint64_t got = 0;
    std::uint64_t put = 0;
    std::uint64_t no = 0;
    auto& out = lanes[me];
    auto& in = lanes[(me + 1) % threads];
    const auto give_back = [&](object* o, std::uint64_t expected) {
      bad += o->owner == expected && o->check == ~expected ? 0U : 1U;
      o->owner = 0;
      const fs::handle name = pool->handle_of(o);
      bad += pool->find(name) == o ? 0U : 1U;
      pool->put(mine, o);
      ++put;
    };
    const auto take_in = [&] {
      object* o = nullptr;
      while (in.pop_batch(std::span(&o, 1)) == 1) give_back(o, (me + 1) % threads + 1);
    };
    for (std::uint64_t i = 0; i < rounds; ++i) {
      switch (random() % 4) {
        case 0:
        case 1:
          if (object* o = pool->get(mine)) {
            bad += o->owner == 0 && pool->owns(o) ? 0U : 1U;
            o->owner = me + 1;
            o->check = ~(me + 1);
            held.push_back(o);
            ++got;
          } else {
            ++no;
          }
          break;
        case 2:
          if (!held.empty()) {
            object* o = held.back();
            if (out.try_push(o)) held.pop_back();
          }
          take_in();
          break;
        default:
          for (std::uint64_t n = random() % 40; n > 0 && !held.empty(); --n) {
            give_back(held.back(), me + 1);
            held.pop_back();
          }
      }
      if (random() % 1024 == 0) pool->drain(mine);
    }
    for (object* o : held) give_back(o, me + 1);
    running.fetch_sub(1, std::memory_order_acq_rel);
    while (running.load(std::memory_order_acquire) != 0) {
      take_in();
      sched_yield();
    }
    take_in();
    pool->drain(mine);
    wrong += bad;
    refused += no;
    gets += got;
    puts += put;
  });
  CHECK(wrong.load() == 0);
  CHECK(gets.load() == puts.load());
  CHECK(pool->refused_total() == refused.load());
  CHECK(pool->misused_total() == 0);
  CHECK(pool->in_use() == 0);
  typename Pool::magazine all;
  std::uint32_t available = 0;
  while (pool->get(all) != nullptr) ++available;
  CHECK(available == capacity);
}

TEST_CASE("stress: thousands of threads in turn lose no slot") {
  using pool_type = fs::slot_pool<owned>;
  const auto pool = std::make_unique<pool_type>();
  REQUIRE(pool->reserve(128) == fs::errc::ok);
  const std::uint64_t rounds = iterations(200);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    in_threads(3, [&](std::uint64_t) {
      pool_type::magazine mine;
      owned* o[20] = {};
      for (auto*& each : o) each = pool->get(mine);
      for (auto* each : o) {
        if (each != nullptr) pool->put(mine, each);
      }
      pool->drain(mine);
    });
  }
  CHECK(pool->in_use() == 0);
  CHECK(pool->refused_total() == 0);
  CHECK(pool->misused_total() == 0);
}

TEST_CASE("stress: a handle that went stale is never found while others get and put") {
  using pool_type = fs::slot_pool<owned>;
  const auto pool = std::make_unique<pool_type>();
  REQUIRE(pool->reserve(64) == fs::errc::ok);
  std::atomic<std::uint64_t> stale_bits{0};
  std::atomic<bool> done{false};
  const std::uint64_t rounds = iterations(100000);
  std::uint64_t found = 0;
  std::uint64_t looked = 0;
  in_threads(2, [&](std::uint64_t side) {
    if (side == 0) {
      pool_type::magazine mine;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        owned* o = pool->get(mine);
        const fs::handle name = pool->handle_of(o);
        pool->put(mine, o);
        stale_bits.store(name.bits(), std::memory_order_release);
      }
      done.store(true, std::memory_order_release);
      return;
    }
    do {
      const auto bits = stale_bits.load(std::memory_order_acquire);
      found += pool->find(fs::handle::from_bits(bits)) == nullptr ? 0U : 1U;
      ++looked;
    } while (!done.load(std::memory_order_acquire));
  });
  CHECK(found == 0);
  CHECK(looked > 0);
}
