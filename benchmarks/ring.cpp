// SPDX-License-Identifier: Apache-2.0
// ring_drained: what a producer pays for a 64-byte record while another thread takes the records
// away.
#include <benchmark/benchmark.h>
#include <concurrentqueue.h>

#include <boost/lockfree/spsc_queue.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>

#include <support/consumer.hpp>
#include <support/row.hpp>

namespace bench {
namespace {

using record = fabscope::operation_record;

// The producer writes bursts that fit, and waits, unmeasured, until each has been taken: else it
// would be faster than any consumer, and to be refused, or to overwrite what nobody has read, is
// cheap.
constexpr std::size_t slots = 4096;
constexpr std::size_t burst = 2048;
constexpr std::size_t at_once = 1024;

void use(const record& taken) { benchmark::DoNotOptimize(taken.end); }

struct our_spsc {
  fabscope::spsc_ring<record> ring = std::move(*fabscope::spsc_ring<record>::create(slots));

  bool push(const record& one) { return ring.try_push(one); }
  void empty() {
    (void)ring.consume([](std::span<const record> part) noexcept {
      for (const record& one : part) use(one);
    });
  }
};

struct our_overwrite {
  std::uint64_t head = 0;
  std::vector<fabscope::slot_line> lines = std::vector<fabscope::slot_line>(slots);
  std::vector<fabscope::slot_line> copies = std::vector<fabscope::slot_line>(at_once);
  fabscope::overwrite_writer writer{&head, lines.data(), slots - 1};
  fabscope::overwrite_reader reader{&head, lines.data(), slots - 1};
  fabscope::ring_cursor cursor;

  bool push(const record& one) {
    writer.push(one);
    return true;
  }
  void empty() {
    for (;;) {
      const auto taken = reader.poll(cursor, copies);
      if (taken.empty()) return;
      for (const auto& line : taken) benchmark::DoNotOptimize(line.word[2]);
    }
  }
};

struct boost_spsc {
  boost::lockfree::spsc_queue<record, boost::lockfree::capacity<slots>> queue;

  bool push(const record& one) { return queue.push(one); }
  void empty() { (void)queue.consume_all(use); }
};

struct moodycamel_tokens {
  moodycamel::ConcurrentQueue<record> queue{slots * 2};
  moodycamel::ProducerToken producer{queue};
  moodycamel::ConsumerToken taker{queue};
  std::vector<record> copies = std::vector<record>(at_once);

  bool push(const record& one) { return queue.try_enqueue(producer, one); }
  void empty() {
    while (queue.try_dequeue_bulk(taker, copies.begin(), at_once) != 0) use(copies[0]);
  }
};

struct mutex_vector {
  std::mutex lock;
  std::vector<record> records;
  std::vector<record> taken;

  mutex_vector() {
    records.reserve(slots * 4);
    taken.reserve(slots * 4);
  }
  bool push(const record& one) {
    const std::lock_guard<std::mutex> guard(lock);
    records.push_back(one);
    return true;
  }
  void empty() {
    {
      const std::lock_guard<std::mutex> guard(lock);
      taken.swap(records);
    }
    for (const record& one : taken) use(one);
    taken.clear();
  }
};

/// Lanes: the producer, and two bare clock reads.
template <class Queue>
row drained(const char* name, double budget) {
  struct state {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<consumer> taker;
    std::size_t refused = 0;
    double took = 0;
  };
  auto live = std::make_shared<state>();
  lane producer{"push", [live](std::size_t n, unsigned) {
                  Queue& queue = *live->queue;
                  record one;
                  live->refused = 0;
                  live->took = 0;
                  for (std::size_t done = 0; done < n;) {
                    const std::size_t end = std::min(done + burst, n);
                    const std::uint64_t begin = wall_ns();
                    for (; done < end; ++done) {
                      one.header.ticks = done;
                      one.end = done + 40;
                      one.bytes = done & 4095U;
                      if (!queue.push(one)) ++live->refused;
                    }
                    live->took += static_cast<double>(wall_ns() - begin);
                    live->taker->wait();
                  }
                }};
  producer.sound = [live](std::size_t) { return live->refused == 0; };
  producer.took = [live] { return live->took; };
  producer.count = 4 * burst;
  row out{name, "two bare clock reads", budget, {producer, two_reads()}};
  out.enter = [live](unsigned) {
    live->queue = std::make_unique<Queue>();
    live->taker = std::make_unique<consumer>([live] { live->queue->empty(); });
  };
  out.leave = [live](unsigned) {
    live->taker.reset();
    live->queue.reset();
  };
  return out;
}

}  // namespace

void add_ring_rows() {
  rows().push_back(drained<our_spsc>("ring_drained", 0.30));
  rows().push_back(drained<our_overwrite>("ring_drained/overwrite_ring", 0.30));
  rows().push_back(drained<boost_spsc>("ring_drained/boost_spsc_queue", 0));
  rows().push_back(drained<moodycamel_tokens>("ring_drained/moodycamel_tokens", 0));
  rows().push_back(drained<mutex_vector>("ring_drained/mutex_vector", 0));
}

}  // namespace bench
