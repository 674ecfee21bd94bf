// SPDX-License-Identifier: Apache-2.0
// Rings, pools and the hand-over of threads, step by step in every order that a seed or a search
// gives.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <fabscope/pool/slot_pool.hpp>
#include <fabscope/ring/mpsc_ring.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <fabscope/session/drain_thread.hpp>
#include <fabscope/session/segment.hpp>
#include <fabscope/session/thread_registry.hpp>

#include "mutants.hpp"
#include "scheduler.hpp"

namespace fs = fabscope;
using namespace interleaving;

namespace {

/// Nothing wrong in any of these orders. Printed: how many there were.
#define CHECK_ALL_WELL(found)          \
  do {                                 \
    const finding& f = found;          \
    INFO(f.text());                    \
    CHECK(f.ok());                     \
    MESSAGE(f.orders, " orders well"); \
  } while (false)
/// The mutant is found. Not asked when one seed of another case is looked at.
#define CHECK_FOUND(found)                               \
  do {                                                   \
    const finding& f = found;                            \
    if (std::getenv("FABSCOPE_SEED") != nullptr) break;  \
    CHECK_FALSE(f.ok());                                 \
    MESSAGE("found in order ", f.orders, ": ", f.wrong); \
  } while (false)

// --- the scheduler itself
// ---------------------------------------------------------------------------

struct two_by_two {
  static constexpr std::size_t threads = 2;
  static inline std::set<std::string> seen;
  std::uint64_t word = 0;
  std::string order;
  void body(std::size_t me) {
    for (int i = 0; i < 2; ++i) {
      stepping::fetch_add(word, 1);
      order += static_cast<char>('a' + me);
    }
  }
  std::string verdict() {
    seen.insert(order);
    return word == 4 ? "" : "lost";
  }
};
struct lost_update {
  static constexpr std::size_t threads = 2;
  std::uint64_t word = 0;
  void body(std::size_t) { stepping::relaxed_add(word, 1); }
  std::string verdict() const { return word == 2 ? "" : "an addition was lost"; }
};
struct deadlock {
  static constexpr std::size_t threads = 2;
  lock locks[2];
  void body(std::size_t me) {
    locks[me].take();
    locks[1 - me].take();
    locks[1 - me].give_back();
    locks[me].give_back();
  }
  static std::string verdict() { return ""; }
};

// --- queues
// -----------------------------------------------------------------------------------------

struct message {
  std::uint64_t producer;
  std::uint64_t number;
  std::uint64_t check;
};
message numbered(std::uint64_t producer, std::uint64_t n) {
  return {producer, n, ~(n * 4 + producer)};
}
bool intact(const message& m) { return m.check == ~(m.number * 4 + m.producer); }

/// Producers 0 and up, each with so many records, and one consumer that looks so many times; what
/// is left is taken at the end.
template <class Ring, std::size_t Producers, std::uint64_t Each, std::size_t Capacity,
          std::size_t Polls, std::size_t At = 2>
struct queue {
  static constexpr std::size_t threads = Producers + 1;
  struct alignas(Ring::alignment) block {
    unsigned char byte[Ring::bytes_needed(Capacity)];
  };
  block memory;
  Ring ring = Ring::place(&memory, Capacity);
  std::vector<std::uint64_t> accepted[Producers];
  std::vector<std::uint64_t> got[Producers];
  std::uint64_t refused = 0;
  std::string wrong;

  void body(std::size_t me) {
    if (me == Producers) {
      for (std::size_t i = 0; i < Polls; ++i) take();
      return;
    }
    for (std::uint64_t n = 0; n < Each; ++n) {
      if (ring.try_push(numbered(me, n)))
        accepted[me].push_back(n);
      else
        ++refused;
    }
  }
  bool take() {
    message out[At];
    const std::size_t count = ring.pop_batch(out);
    if (count > At) wrong = "more than there is room for";
    for (std::size_t i = 0; i < count && i < At; ++i) {
      if (!intact(out[i]) || out[i].producer >= Producers)
        wrong = "a record is torn";
      else
        got[out[i].producer].push_back(out[i].number);
    }
    return count != 0;
  }
  std::string verdict() {
    for (int i = 0; i < 16 && take(); ++i) {
    }
    if (!wrong.empty()) return wrong;
    for (std::size_t i = 0; i < Producers; ++i) {
      if (got[i] != accepted[i]) return "records lost, doubled or out of order";
    }
    if (ring.dropped_total() != refused) return "refusals counted wrong";
    if (ring.popped_total() != ring.pushed_total()) return "the ring's counts do not agree";
    return "";
  }
};
template <class Access>
using spsc = fs::spsc_ring<message, Access>;
template <class Access>
using mpsc = fs::mpsc_ring<message, Access>;
/// The smallest case there is: each order can be tried.
template <class Access>
struct tiny_spsc {
  static constexpr std::size_t threads = 2;
  using ring_type = fs::spsc_ring<std::uint64_t, Access>;
  alignas(64) unsigned char memory[ring_type::bytes_needed(1)];
  ring_type ring = ring_type::place(memory, 1);
  std::vector<std::uint64_t> accepted;
  std::vector<std::uint64_t> got;
  void body(std::size_t me) {
    for (std::uint64_t n = 1; n <= 2; ++n) {
      if (me == 1)
        take();
      else if (ring.try_push(n))
        accepted.push_back(n);
    }
  }
  void take() {
    std::uint64_t one = 0;
    if (ring.pop_batch({&one, 1}) == 1) got.push_back(one);
  }
  std::string verdict() {
    take();
    return got == accepted && accepted.size() + ring.dropped_total() == 2 ? "" : "lost or doubled";
  }
};

/// A producer that stops between claim and publish, is given up, and whose slot is used again.
template <class Access>
struct abandoned {
  static constexpr std::size_t threads = 3;
  using ring_type = fs::mpsc_ring<message, Access>;
  alignas(64) unsigned char memory[ring_type::bytes_needed(2)];
  ring_type ring = ring_type::place(memory, 2);
  bool claimed = false;
  std::vector<std::uint64_t> accepted;
  std::vector<std::uint64_t> got;
  std::string wrong;
  void body(std::size_t me) {
    if (me == 0) {
      claimed = static_cast<bool>(ring.try_claim());
    } else if (me == 1) {
      for (std::uint64_t n = 0; n < 3; ++n) {
        if (ring.try_push(numbered(1, n))) accepted.push_back(n);
      }
    } else {
      for (int i = 0; i < 3; ++i) take();
    }
  }
  void take() {
    message out[2];
    const std::size_t count = ring.pop_batch(out);
    for (std::size_t i = 0; i < count; ++i) {
      if (!intact(out[i]) || out[i].producer != 1) wrong = "a record of nobody came out";
      got.push_back(out[i].number);
    }
  }
  std::string verdict() {
    for (int i = 0; i < 4; ++i) {
      take();
      (void)ring.abandon_oldest();  // at rest: whatever is claimed is dead
    }
    if (!wrong.empty()) return wrong;
    if (got != accepted) return "records lost, doubled or out of order";
    const std::uint64_t given_up = claimed ? 1 : 0;
    if (ring.abandoned_total() != given_up) return "claims given up are counted wrong";
    if (ring.popped_total() + ring.abandoned_total() + ring.dropped_total() != 4 ||
        ring.approx_size() != 0) {
      return "the ring's counts do not agree";
    }
    return "";
  }
};

// --- the flight recorder
// ----------------------------------------------------------------------------

/// Writes records of three words over a ring of two or four while one thread reads on and another
/// takes pictures of the newest.
template <class Access, std::size_t Capacity, std::uint64_t Records, std::size_t Polls,
          std::size_t Pictures>
struct recorder {
  static constexpr std::size_t threads = 2 + (Pictures != 0 ? 1 : 0);
  struct record {
    std::uint64_t word[3];
  };
  std::uint64_t head = 0;
  fs::slot_line slots[Capacity] = {};
  fs::basic_overwrite_writer<Access> writer{&head, slots, Capacity - 1};
  fs::basic_overwrite_reader<Access> reader{&head, slots, Capacity - 1};
  fs::ring_cursor cursor;
  std::uint64_t handed_out = 0;
  std::string wrong;

  void body(std::size_t me) {
    fs::slot_line out[Capacity];
    if (me == 0) {
      for (std::uint64_t n = 0; n < Records; ++n)
        writer.push(record{{n * 3, n * 3 + 1, n * 3 + 2}});
    } else if (me == 1) {
      for (std::size_t i = 0; i < Polls; ++i) poll(out);
    } else {
      for (std::size_t i = 0; i < Pictures; ++i) {
        std::uint64_t first = 0;
        const auto picture = reader.snapshot(out, &first);
        check(picture, first);
      }
    }
  }
  void poll(std::span<fs::slot_line> out) {
    const auto batch = reader.poll(cursor, out);
    check(batch, cursor.next - batch.size());
    handed_out += batch.size();
    if (cursor.read + cursor.overwritten != cursor.next) wrong = "the cursor's counts do not agree";
  }
  void check(std::span<const fs::slot_line> batch, std::uint64_t number) {
    for (const fs::slot_line& line : batch) {
      for (std::uint64_t i = 0; i < 3; ++i) {
        if (line.word[i] != number * 3 + i) wrong = "a torn or wrong record was handed out";
      }
      ++number;
    }
  }
  std::string verdict() {
    fs::slot_line out[Capacity];
    while (cursor.next != head && wrong.empty()) poll(out);
    if (!wrong.empty()) return wrong;
    if (head != Records || cursor.read != handed_out ||
        cursor.read + cursor.overwritten != Records) {
      return "not every record was read or counted";
    }
    return "";
  }
};

// --- the pool
// ---------------------------------------------------------------------------------------

struct object {
  std::uint64_t owner = 0;
};

/// Two or three threads get and put so that batches go through the shared list: what one got
/// another puts, magazines are drained, and two batches lie in the list at the beginning.
template <class Access, std::size_t Threads>
struct pool {
  static constexpr std::size_t threads = Threads;
  static constexpr std::uint32_t capacity = 16 * (Threads + 1);
  using pool_type = fs::slot_pool<object, Access>;
  pool_type slots;
  std::set<object*> taken;
  std::uint64_t refused = 0;
  std::string wrong;

  pool() {
    if (slots.reserve(capacity, 8) != fs::errc::ok) std::abort();
    typename pool_type::magazine mine;
    object* held[32];
    for (object*& each : held) each = slots.get(mine);
    for (object* each : held) slots.put(mine, each);
    slots.drain(mine);
  }
  object* get(typename pool_type::magazine& from) {
    object* one = slots.get(from);
    if (one == nullptr)
      ++refused;
    else if (!taken.insert(one).second)
      wrong = "a slot was given to two";
    return one;
  }
  void put(typename pool_type::magazine& to, object* one) {
    if (one == nullptr) return;
    const fs::handle name = slots.handle_of(one);
    if (slots.find(name) != one) wrong = "a live handle was not found";
    taken.erase(one);
    slots.put(to, one);
    if (slots.find(name) != nullptr) wrong = "a stale handle was found";
  }
  void body(std::size_t me) {
    typename pool_type::magazine mine;
    if (me == 0) {
      object* held[18];
      for (object*& each : held) each = get(mine);
      for (object* each : held) put(mine, each);
    } else {
      // Takes the first batch and the second, and gives the first one back as it was.
      typename pool_type::magazine other;
      put(mine, get(mine));
      object* kept = get(other);
      slots.drain(mine);
      object* more = get(other);
      put(other, kept);
      put(other, more);
      slots.drain(other);
    }
    slots.drain(mine);
  }
  std::string verdict() {
    if (!wrong.empty()) return wrong;
    if (slots.in_use() != 0 || slots.misused_total() != 0) return "slots are still taken";
    typename pool_type::magazine all;
    std::set<object*> different;
    for (std::uint32_t i = 0; i < capacity; ++i) different.insert(slots.get(all));
    if (different.size() != capacity || different.count(nullptr) != 0) return "slots were lost";
    if (slots.get(all) != nullptr) return "more slots than there are";
    return slots.refused_total() == refused + 1 ? "" : "refusals counted wrong";
  }
};

// --- a thread ends, the collector reads what it left, a later one goes on
// ----------------------------

enum class flaw { none, given_away_unread, ends_early };

/// Three threads, one after the other or beside each other, and the collector. Each takes a slot of
/// the segment under the lock, records, and leaves without it, as session/engine.hpp has it.
template <class Access, flaw Flaw = flaw::none>
struct hand_over {
  static constexpr std::size_t recording = 3;
  static constexpr std::size_t threads = recording + 1;
  static constexpr std::uint64_t each = 3;
  static constexpr std::uint32_t ring_slots = 4;
  struct record {
    std::uint64_t thread;
    std::uint64_t number;
    std::uint64_t check;
  };
  struct shared {
    fs::segment segment;
    fs::detail::basic_thread_registry<Access> registry;
    fs::segment_format::thread_entry* entries = nullptr;
    shared() {
      if (segment.create("/dev/shm", "fabscope-interleaving." + std::to_string(::getpid())) !=
          fs::errc::ok) {
        std::abort();
      }
      registry.start(segment, ring_slots);
      // All the slots there will be: from now on they are only handed over.
      fabscope_thread* all[recording];
      for (fabscope_thread*& one : all) one = registry.attach();
      for (fabscope_thread* one : all) registry.detach(one);
      entries = segment.base().threads;
    }
    ~shared() { segment.remove(); }
  };
  static shared& all() {
    static shared made;
    return made;
  }

  lock control;
  std::size_t owner[recording] = {recording, recording, recording};
  std::uint64_t expected[recording] = {};  // next number of each thread, if nothing is overwritten
  std::uint64_t read = 0;
  std::string wrong;
  fs::slot_line lines[ring_slots];

  hand_over() {
    for (std::size_t i = 0; i < recording; ++i) {
      auto& entry = all().entries[i];
      entry.head = entry.next = entry.read = entry.overwritten = 0;
      entry.state = static_cast<std::uint32_t>(fs::segment_format::thread_state::free);
    }
  }
  void body(std::size_t me) {
    if (me == recording) {
      for (int i = 0; i < 3; ++i) round();
      return;
    }
    control.take();
    fabscope_thread* mine = all().registry.attach();
    if (mine == nullptr) {
      wrong = "no slot for a thread";
      return;
    }
    owner[mine->id] = me;
    control.give_back();
    fs::basic_overwrite_writer<Access> ring(mine->head, mine->slots, mine->mask);
    for (std::uint64_t n = 0; n < each; ++n) {
      if (Flaw == flaw::ends_early && n + 1 == each) all().registry.detach(mine);
      ring.push(record{me, n, ~(n * 8 + me)});
    }
    if (Flaw != flaw::ends_early) all().registry.detach(mine);
  }
  void round() {
    drain();
    control.take();
    all().registry.reclaim(Flaw != flaw::given_away_unread);
    control.give_back();
  }
  void drain() {
    for (std::size_t i = 0; i < recording; ++i) {
      // The owner of what is read: whoever had the slot last when the reading began.
      (void)fs::detail::drain_thread<Access>(all().entries[i], lines,
                                             [this, i](std::span<const fs::slot_line> records) {
                                               for (const fs::slot_line& line : records)
                                                 take(line, i);
                                             });
    }
  }
  void take(const fs::slot_line& line, std::size_t slot) {
    const std::uint64_t thread = line.word[0];
    const std::uint64_t number = line.word[1];
    ++read;
    if (thread >= recording || line.word[2] != ~(number * 8 + thread)) {
      wrong = "a torn record";
    } else if (thread != owner[slot]) {
      wrong = "a record is counted for another thread";
    } else if (number < expected[thread]) {
      wrong = "a record came twice or out of order";
    } else {
      expected[thread] = number + 1;
    }
  }
  std::string verdict() {
    round();
    round();
    if (!wrong.empty()) return wrong;
    std::uint64_t produced = 0;
    std::uint64_t overwritten = 0;
    for (std::size_t i = 0; i < recording; ++i) {
      const auto& entry = all().entries[i];
      produced += entry.head;
      overwritten += entry.overwritten;
      if (entry.state != static_cast<std::uint32_t>(fs::segment_format::thread_state::free)) {
        return "a slot was not given back";
      }
    }
    if (produced != recording * each) return "records were lost";
    if (read + overwritten != produced) return "read and overwritten are not all";
    return "";
  }
};

}  // namespace

TEST_CASE("interleaving.scheduler: tries every order once, and only those") {
  const finding all = explore_all<two_by_two>(9, 100);
  CHECK(all.ok());
  CHECK(all.orders == 6);  // four steps, two of each thread
  CHECK(two_by_two::seen.size() == 6);
  CHECK(explore_all<two_by_two>(0, 100).orders == 2);
}

TEST_CASE("interleaving.scheduler: a seed gives one order, and errors and deadlocks are found") {
  seeded a(7);
  seeded b(7);
  CHECK(once<queue<spsc<stepping>, 1, 4, 2, 4>>(a).trace ==
        once<queue<spsc<stepping>, 1, 4, 2, 4>>(b).trace);
  CHECK_FOUND(explore_all<lost_update>(1, 100));
  CHECK_FOUND(explore<lost_update>(100));
  CHECK_FOUND(explore_all<deadlock>(1, 100));
}

TEST_CASE("interleaving.spsc_ring: nothing is lost, doubled, torn or out of order") {
  CHECK_ALL_WELL(explore_all<tiny_spsc<stepping>>(99, 20000));
  CHECK_ALL_WELL((explore_all<queue<spsc<stepping>, 1, 3, 2, 2>>(4, 50000)));
  CHECK_ALL_WELL((explore<queue<spsc<stepping>, 1, 6, 2, 5>>(40000)));
  CHECK_ALL_WELL((explore<queue<spsc<stepping>, 1, 6, 1, 5, 1>>(20000)));
  CHECK_FOUND((explore<queue<spsc<late_copy<0>>, 1, 6, 2, 5>>(4000)));  // published, then written
  CHECK_FOUND((explore<queue<spsc<late_copy<1>>, 1, 6, 2, 5>>(4000)));  // freed, then read
}

TEST_CASE("interleaving.mpsc_ring: nothing is lost, doubled, torn or out of order per producer") {
  CHECK_ALL_WELL((explore_all<queue<mpsc<stepping>, 2, 1, 1, 1, 1>>(4, 50000)));
  CHECK_ALL_WELL((explore<queue<mpsc<stepping>, 2, 3, 2, 4>>(40000)));
  CHECK_ALL_WELL((explore<queue<mpsc<stepping>, 3, 2, 1, 4>>(20000)));
  CHECK_ALL_WELL(explore<abandoned<stepping>>(30000));
  CHECK_FOUND((explore<queue<mpsc<late_copy<0>>, 2, 3, 2, 4>>(4000)));
  CHECK_FOUND((explore<queue<mpsc<torn_exchange>, 2, 3, 2, 4>>(4000)));
  CHECK_FOUND((explore<queue<mpsc<torn_add>, 2, 3, 1, 1>>(4000)));
}

TEST_CASE("interleaving.overwrite_ring: no torn record is handed out and all are counted") {
  CHECK_ALL_WELL((explore_all<recorder<stepping, 2, 3, 1, 0>>(4, 50000)));
  CHECK_ALL_WELL((explore<recorder<stepping, 2, 6, 3, 2>>(40000)));
  CHECK_ALL_WELL((explore<recorder<stepping, 4, 9, 3, 2>>(20000)));
  CHECK_FOUND((explore<recorder<late_store, 4, 9, 3, 2>>(4000)));
}

TEST_CASE(
    "interleaving.slot_pool: no slot is given to two, none is lost, stale handles are refused") {
  CHECK_ALL_WELL((explore<pool<stepping, 2>>(25000)));
  CHECK_ALL_WELL((explore<pool<stepping, 3>>(10000)));
  CHECK_FOUND((explore<pool<untagged, 2>>(2500)));
  CHECK_FOUND((explore<pool<torn_exchange, 2>>(2500)));
}

TEST_CASE("interleaving.thread_registry: a thread ends and another goes on, and nothing is lost") {
  CHECK_ALL_WELL(explore<hand_over<stepping>>(30000));
  CHECK_FOUND((explore<hand_over<stepping, flaw::given_away_unread>>(3000)));
  CHECK_FOUND((explore<hand_over<stepping, flaw::ends_early>>(3000)));
}
