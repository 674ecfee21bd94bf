// SPDX-License-Identifier: Apache-2.0
// Every ring and every pool under threads, checked by sums.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fabscope/pool/slot_pool.hpp>
#include <fabscope/ring/mpsc_ring.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <memory>
#include <vector>

#if __has_include(<boost/lockfree/queue.hpp>)
#include <fabscope/boost/mpmc_ring.hpp>
#include <fabscope/boost/spsc_ring.hpp>
#endif

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

// --- everything that takes messages here and gives them out there
// ------------------------------------------------------------------------------------------------

struct message {
  std::uint64_t producer;
  std::uint64_t number;
  std::uint64_t echo[6];
};
message numbered(std::uint64_t producer, std::uint64_t n) {
  return {producer, n, {n ^ producer, n + 1, n + 2, n + 3, n + 4, n + 5}};
}
bool intact(const message& m) {
  bool same = m.echo[0] == (m.number ^ m.producer);
  for (std::uint64_t i = 1; i < 6; ++i) same = same && m.echo[i] == m.number + i;
  return same;
}

// Models give everything the same face. push() is called by one thread per producer and pop() by
// one per consumer; lost() is what neither side saw, and consistent() is asked at the end.

template <class Ring, std::size_t Producers, std::size_t Consumers>
struct queue_model {
  static constexpr std::size_t producers = Producers;
  static constexpr std::size_t consumers = Consumers;
  Ring ring;
  std::atomic<std::uint64_t> refused{0};
  void push(std::size_t, const message& m) {
    if (!ring.try_push(m)) refused.fetch_add(1, std::memory_order_relaxed);
  }
  std::size_t pop(std::size_t, std::span<message> out) { return ring.pop_batch(out); }
  [[nodiscard]] std::uint64_t lost() const { return ring.dropped_total(); }
  [[nodiscard]] bool consistent() const { return refused.load() == ring.dropped_total(); }
};

template <std::size_t Capacity>
struct spsc_of : queue_model<fs::spsc_ring<message>, 1, 1> {
  spsc_of() { ring = std::move(fs::spsc_ring<message>::create(Capacity).value()); }
};
template <std::size_t Capacity, std::size_t Producers = 4>
struct mpsc_of : queue_model<fs::mpsc_ring<message>, Producers, 1> {
  mpsc_of() { this->ring = std::move(fs::mpsc_ring<message>::create(Capacity).value()); }
  void push(std::size_t side, const message& m) {
    if (side != 0) return queue_model<fs::mpsc_ring<message>, Producers, 1>::push(side, m);
    // The first producer writes in place, and often loses the processor while it does.
    const auto mine = this->ring.try_claim();
    if (!mine) {
      this->refused.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    mine.record->producer = m.producer;
    if (m.number % 16 == 0) sched_yield();
    *mine.record = m;
    this->ring.publish(mine);
  }
};
// In given memory, with a view for each side.
template <class Ring, std::size_t Capacity, std::size_t Producers>
struct placed {
  static constexpr std::size_t producers = Producers;
  static constexpr std::size_t consumers = 1;
  struct alignas(Ring::alignment) block {
    unsigned char byte[Ring::bytes_needed(Capacity)];
  };
  std::unique_ptr<block> memory = std::make_unique<block>();
  Ring ring = Ring::place(memory.get(), Capacity);
  Ring view = Ring::attach(memory.get(), Capacity);
  void push(std::size_t, const message& m) { (void)ring.try_push(m); }
  std::size_t pop(std::size_t, std::span<message> out) { return view.pop_batch(out); }
  [[nodiscard]] std::uint64_t lost() const { return view.dropped_total(); }
  [[nodiscard]] bool consistent() const { return view.was_empty(); }
};

template <std::size_t Capacity>
struct overwrite_of {
  static constexpr std::size_t producers = 1;
  static constexpr std::size_t consumers = 1;
  std::uint64_t head = 0;
  std::vector<fs::slot_line> slots = std::vector<fs::slot_line>(Capacity);
  fs::overwrite_writer writer{&head, slots.data(), Capacity - 1};
  fs::overwrite_reader reader{&head, slots.data(), Capacity - 1};
  fs::ring_cursor cursor;
  std::vector<fs::slot_line> lines = std::vector<fs::slot_line>(64);
  void push(std::size_t, const message& m) { writer.push(m); }
  std::size_t pop(std::size_t, std::span<message> out) {
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

template <std::size_t Capacity>
struct owning_overwrite_of {
  static constexpr std::size_t producers = 1;
  static constexpr std::size_t consumers = 1;
  fs::overwrite_ring<message> ring =
      std::move(fs::overwrite_ring<message>::create(Capacity).value());
  void push(std::size_t, const message& m) { ring.push(m); }
  std::size_t pop(std::size_t, std::span<message> out) { return ring.pop_batch(out); }
  [[nodiscard]] std::uint64_t lost() const { return ring.overwritten_total(); }
  [[nodiscard]] bool consistent() const {
    return ring.popped_total() + ring.overwritten_total() == ring.written_total();
  }
};

// A pool whose objects carry the messages; their addresses go through a ring that is never full.
template <class Object, std::uint32_t Capacity>
struct pool_of {
  static constexpr std::size_t producers = 3;
  static constexpr std::size_t consumers = 1;
  using pool_type = fs::slot_pool<Object>;
  pool_type pool;
  typename pool_type::magazine magazines[producers + 1];
  fs::mpsc_ring<Object*> addresses =
      std::move(fs::mpsc_ring<Object*>::create(std::size_t{Capacity} + 16).value());
  std::atomic<std::uint64_t> refused{0};
  std::uint64_t wrong = 0;
  pool_of() { REQUIRE(pool.reserve(Capacity, 5) == fs::errc::ok); }
  void push(std::size_t side, const message& m) {
    Object* object = pool.get(magazines[side]);
    if (object == nullptr) {
      refused.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    object->carried = m;
    object->name = pool.handle_of(object).bits();
    if (!addresses.try_push(object)) std::abort();
  }
  std::size_t pop(std::size_t, std::span<message> out) {
    Object* object = nullptr;
    std::size_t count = 0;
    while (count < out.size() && addresses.pop_batch(std::span(&object, 1)) == 1) {
      wrong += pool.find(fs::handle::from_bits(object->name)) == object ? 0U : 1U;
      out[count++] = object->carried;
      pool.put(magazines[producers], object);
    }
    return count;
  }
  [[nodiscard]] std::uint64_t lost() const { return refused.load(); }
  [[nodiscard]] bool consistent() {
    for (auto& each : magazines) pool.drain(each);  // as threads do that end
    std::uint32_t available = 0;
    while (pool.get(magazines[0]) != nullptr) ++available;
    return wrong == 0 && pool.misused_total() == 0 && available == pool.capacity() &&
           pool.refused_total() == refused.load() + 1;
  }
};
struct carrier {
  message carried;
  std::uint64_t name;
};
struct alignas(64) lending_carrier {
  message carried;
  std::uint64_t name;
  fs::slot_tag pool_tag;
};

#if __has_include(<boost/lockfree/queue.hpp>)
template <std::size_t Capacity>
using boost_spsc_of = queue_model<fs::boost_spsc_ring<message, Capacity>, 1, 1>;
template <std::size_t Capacity, std::size_t Producers, std::size_t Consumers>
using boost_mpmc_of = queue_model<fs::boost_mpmc_ring<message, Capacity>, Producers, Consumers>;
#define WITH_BOOST(...) , __VA_ARGS__
#else
#define WITH_BOOST(...)
#endif

}  // namespace

// A new ring or pool is added to this list.
TEST_CASE_TEMPLATE("stress: each message comes out once, whole, in order, or is counted", Model,
                   spsc_of<1>, spsc_of<16>, spsc_of<4096>, mpsc_of<1>, mpsc_of<16>, mpsc_of<4096>,
                   mpsc_of<64, 1>, placed<fs::spsc_ring<message>, 64, 1>,
                   placed<fs::mpsc_ring<message>, 64, 3>, owning_overwrite_of<256>, overwrite_of<2>,
                   overwrite_of<64>, overwrite_of<4096>, pool_of<carrier, 64>,
                   pool_of<lending_carrier, 256> WITH_BOOST(boost_spsc_of<1>, boost_spsc_of<64>,
                                                            boost_mpmc_of<1, 2, 1>,
                                                            boost_mpmc_of<64, 3, 2>)) {
  constexpr std::size_t producers = Model::producers;
  constexpr std::size_t consumers = Model::consumers;
  const auto model = std::make_unique<Model>();
  const std::uint64_t each = iterations(100000) / producers;
  std::atomic<std::size_t> at_work{producers};
  std::atomic<std::uint64_t> got{0};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> disordered{0};
  in_threads(producers + consumers, [&](std::uint64_t side) {
    xorshift random{side + 1};
    if (side < producers) {
      for (std::uint64_t n = 0; n < each; ++n) {
        model->push(side, numbered(side, n));
        if (random() % 64 == 0) sched_yield();
      }
      at_work.fetch_sub(1, std::memory_order_acq_rel);
      return;
    }
    std::vector<message> out(64);
    std::uint64_t next[producers] = {};
    std::uint64_t mine = 0;
    std::uint64_t bad = 0;
    std::uint64_t backwards = 0;
    for (;;) {
      const bool last = at_work.load(std::memory_order_acquire) == 0;
      const std::size_t n = model->pop(side - producers, std::span(out).first(1 + random() % 64));
      for (std::size_t i = 0; i < n; ++i) {
        if (!intact(out[i]) || out[i].producer >= producers) {
          ++bad;
          continue;
        }
        std::uint64_t& expected = next[out[i].producer];
        backwards += out[i].number >= expected ? 0U : 1U;
        expected = out[i].number + 1;
      }
      mine += n;
      if (n == 0) {
        if (last) break;
        sched_yield();
      }
    }
    got += mine;
    torn += bad;
    disordered += backwards;
  });
  CHECK(torn.load() == 0);
  CHECK(disordered.load() == 0);
  CHECK(got.load() + model->lost() == each * producers);
  CHECK(got.load() > 0);
  CHECK(model->consistent());
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

TEST_CASE("stress: threads that grow a pool together get each slot once and stop at the cap") {
  using pool_type = fs::slot_pool<owned>;
  constexpr std::uint64_t threads = 4;
  constexpr std::uint32_t capacity = 4096;
  const std::uint64_t rounds = iterations(20);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto pool = std::make_unique<pool_type>();
    REQUIRE(pool->reserve(capacity) == fs::errc::ok);
    std::atomic<std::uint64_t> gets{0};
    std::atomic<std::uint64_t> twice{0};
    in_threads(threads, [&](std::uint64_t me) {
      pool_type::magazine mine;
      std::uint64_t got = 0;
      while (owned* o = pool->get(mine)) {  // until neither the magazine nor the pool has one
        twice += o->owner != 0 ? 1U : 0U;
        o->owner = me + 1;
        ++got;
      }
      gets += got;
    });
    CHECK(gets.load() == capacity);
    CHECK(twice.load() == 0);
    CHECK(pool->in_use() == capacity);
    CHECK(pool->carved() == capacity);
    CHECK(pool->refused_total() == threads);
  }
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
