// SPDX-License-Identifier: Apache-2.0
// Two seconds of threads that start, record and end while sessions come and go, are switched on and
// off and flushed: every count is exact. FABSCOPE_STRESS=<n> runs n times as long,
// FABSCOPE_SEED=<n> mixes differently.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/statvfs.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fabscope/session.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace fs = fabscope;
using namespace fabscope::literals;

namespace {

constexpr std::size_t lanes = 8;

struct xorshift {
  std::uint64_t state;
  std::uint64_t operator()() noexcept {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 8;
  }
};

struct own_record {
  fs::record_header header;
  std::uint64_t lane = 0;
  std::uint64_t number = 0;
  static constexpr const char* type_name = "stress";
  static constexpr bool is_row = false;
  static const fs::field fields[2];
};
inline constexpr fs::field own_record::fields[2] = {
    {"lane", "", offsetof(own_record, lane), fs::field_type::u64},
    {"number", "", offsetof(own_record, number), fs::field_type::u64}};

/// What was recorded, by kind.
struct amounts {
  std::uint64_t plain = 0;
  std::uint64_t nested = 0;
  std::uint64_t phase = 0;
  std::uint64_t step = 0;
  std::uint64_t attribute = 0;
  std::uint64_t own = 0;
  std::uint64_t bytes = 0;  ///< of plain
  [[nodiscard]] std::uint64_t scopes() const { return plain + nested + phase; }
  [[nodiscard]] std::uint64_t all() const { return scopes() + step + attribute + own; }
  void add(const amounts& more) {
    plain += more.plain;
    nested += more.nested;
    phase += more.phase;
    step += more.step;
    attribute += more.attribute;
    own += more.own;
    bytes += more.bytes;
  }
};

/// Counts what it is given, and looks whether each lane's own records come in order.
struct counting_sink {
  std::map<std::string, std::uint64_t> names;
  std::uint64_t scopes = 0;
  std::uint64_t steps = 0;
  std::uint64_t attributes = 0;
  std::uint64_t own = 0;
  std::uint64_t bytes = 0;
  std::uint64_t backwards = 0;
  void consume(std::span<const fs::scope_record> batch, const fs::sink_context& about) noexcept {
    scopes += batch.size();
    for (const auto& one : batch) {
      ++names[std::string(about.label(one.name))];
      backwards += one.end < one.header.ticks ? 1U : 0U;
    }
  }
  void consume(std::span<const fs::step_record> batch, const fs::sink_context&) noexcept {
    steps += batch.size();
  }
  void consume(std::span<const fs::attribute_record> batch, const fs::sink_context&) noexcept {
    attributes += batch.size();
  }
  void consume(std::span<const own_record> batch, const fs::sink_context&) noexcept {
    own += batch.size();
    for (const own_record& one : batch) backwards += one.number == ~one.lane ? 0U : 1U;
  }
  void flush(const fs::sink_context&) noexcept {}
  [[nodiscard]] std::uint64_t all() const { return scopes + steps + attributes + own; }
};

/// Where lanes wait, so that nobody records while somebody looks.
struct gate {
  std::atomic<bool> closed{false};
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> waiting{0};
  void pass() noexcept {
    if (!closed.load(std::memory_order_acquire)) [[likely]]
      return;
    waiting.fetch_add(1, std::memory_order_acq_rel);
    while (closed.load(std::memory_order_acquire)) sched_yield();
    waiting.fetch_sub(1, std::memory_order_acq_rel);
  }
  void close() noexcept {
    closed.store(true, std::memory_order_release);
    while (waiting.load(std::memory_order_acquire) != lanes) sched_yield();
  }
  void open() noexcept {
    closed.store(false, std::memory_order_release);
    while (waiting.load(std::memory_order_acquire) != 0) sched_yield();
  }
};

struct lane {
  gate* at;
  std::uint64_t number;
  xorshift random;
  bool on = false;  ///< as the lane knows it: changed while it waits
  amounts done;
  std::uint64_t emitted = 0;  ///< own records that emit() took, whatever `on` says
  std::uint64_t threads = 0;

  // One operation. What it records it counts itself, without the library.
  void operation() noexcept {
    amounts now;
    switch (random() % 8) {
      case 0:
      case 1: {
        const fs::scope one{"stress plain"_name, 3};
        now.plain = 1;
        now.bytes = 3;
        break;
      }
      case 2: {
        const fs::scope outer{"stress plain"_name, 5};
        for (std::uint64_t i = random() % 4; i > 0; --i) {
          const fs::scope inner{"stress nested"_name};
          ++now.nested;
        }
        now.plain = 1;
        now.bytes = 5;
        break;
      }
      case 3: {
        fs::phases one{"stress phase"_name};
        now.phase = 1;
        for (std::uint64_t i = random() % 3; i > 0; --i) {
          one.next("stress phase"_name, i);
          ++now.phase;
        }
        break;
      }
      case 4: {
        const fs::step one{static_cast<std::int64_t>(number)};
        now.step = 1;
        break;
      }
      case 5: now.attribute = fs::attribute("stress attribute"_name, number) ? 1 : 0; break;
      case 6: now.attribute = fs::attribute("stress text"_name, "text") ? 1 : 0; break;
      default: {
        own_record one;
        one.lane = number;
        one.number = ~number;
        now.own = fs::emit(one) ? 1 : 0;
        emitted += now.own;
      }
    }
    if (on) done.add(now);
  }
  // A thread: it starts, records and ends, over and over again.
  static void* worker(void* self) {
    lane& mine = *static_cast<lane*>(self);
    for (std::uint64_t i = 1000 + mine.random() % 4000; i > 0; --i) {
      if (mine.at->over.load(std::memory_order_relaxed)) break;
      mine.at->pass();
      mine.operation();
    }
    return nullptr;
  }
  static void* run(void* self) {
    lane& mine = *static_cast<lane*>(self);
    while (!mine.at->over.load(std::memory_order_acquire)) {
      mine.at->pass();
      pthread_t thread;
      if (pthread_create(&thread, nullptr, &worker, self) != 0) std::abort();
      pthread_join(thread, nullptr);
      ++mine.threads;
    }
    return nullptr;
  }
};

enum class mode {
  exact,  ///< switched on and off only while all wait: the lanes know every number themselves
  wild,   ///< switched at any time: rows, records and totals agree with each other
  torn,   ///< ends at any time
};

/// A sixteenth of what is free there is a segment's limit, and no thread may be refused here: else
/// segments are anonymous.
bool much_shared_memory() {
  struct statvfs where {};
  return statvfs("/dev/shm", &where) == 0 &&
         std::uint64_t{where.f_bavail} * where.f_frsize >= std::uint64_t{8} << 30;
}

std::uint64_t from_environment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

}  // namespace

TEST_CASE("stress.session: threads come and go, the collector stops and starts, counts are exact") {
  const std::uint64_t seed = from_environment("FABSCOPE_SEED", 1);
  const std::uint64_t end =
      fs::monotonic_ns() + 2'000'000'000 * from_environment("FABSCOPE_STRESS", 1);
  INFO("FABSCOPE_SEED=", seed);
  const bool plenty = much_shared_memory();
  xorshift random{seed * 0x9e3779b97f4a7c15U + 1};
  gate at;
  at.closed.store(true);
  std::unique_ptr<lane> all[lanes];
  pthread_t ids[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    all[i] = std::make_unique<lane>(lane{&at, i, {random() + 1}, false, {}, 0, 0});
    REQUIRE(pthread_create(&ids[i], nullptr, &lane::run, all[i].get()) == 0);
  }
  at.close();
  std::uint64_t sessions[3] = {};
  std::uint64_t records = 0;
  std::uint64_t overwritten = 0;
  do {
    const mode how = random() % 4 == 0 ? mode::torn : random() % 3 == 0 ? mode::wild : mode::exact;
    ++sessions[static_cast<int>(how)];
    fs::options chosen;
    chosen.run_level = random() % 4 == 0 ? fs::level::count : fs::level::record;
    chosen.outputs = fs::output_none;
    chosen.period_ms = static_cast<std::uint32_t>(1 + random() % 10);
    if (!plenty) chosen.node_dir = "/nowhere";
    chosen.ring_slots = std::uint32_t{64} << random() % 9;
    const bool reads = chosen.run_level == fs::level::record;
    counting_sink sink;
    fs::session session(chosen);
    REQUIRE(session.status() == fs::errc::ok);
    if (reads) REQUIRE(session.add_sink<own_record>(sink) == fs::errc::ok);
    const auto set = [&](bool on) {
      session.enable(on);
      for (auto& each : all) each->on = on;
    };
    for (auto& each : all) {
      each->done = {};
      each->emitted = 0;
    }
    set(true);
    at.open();
    const std::uint64_t until = fs::monotonic_ns() + (10 + random() % 80) * 1'000'000;
    while (fs::monotonic_ns() < until) {
      switch (random() % 4) {
        case 0: session.flush(); break;
        case 1:
          if (how == mode::exact) {
            at.close();
            set(random() % 2 == 0);
            at.open();
          } else {
            session.enable(random() % 2 == 0);
          }
          break;
        default:
          for (std::uint64_t i = random() % 1000; i > 0; --i) sched_yield();
      }
    }
    if (how == mode::torn) session.finish();
    at.close();

    // The session's sums, while it still has them, and the lanes'.
    amounts known;
    std::uint64_t emitted = 0;
    for (const auto& each : all) {
      known.add(each->done);
      emitted += each->emitted;
    }
    std::map<std::string, std::uint64_t> rows;
    std::uint64_t row_bytes = 0;
    if (how != mode::torn) {
      const auto view = session.view();
      REQUIRE(view);
      CHECK(view->head().threads_refused == 0);
      view->rows<fs::scope_row>([&](const fs::scope_row& row, std::uint32_t) {
        const std::string name(view->label(row.name));
        rows[name] += row.count;
        if (name == "stress plain") row_bytes += row.bytes;
      });
    }
    session.finish();
    const fs::record_totals totals = session.totals();
    INFO("mode ", static_cast<int>(how), " level ", static_cast<int>(chosen.run_level), " ring ",
         chosen.ring_slots, " period ", chosen.period_ms);
    CHECK(totals.produced ==
          totals.written + totals.dropped + totals.overwritten + totals.filtered + totals.unread);
    CHECK(sink.all() == totals.written);
    CHECK(sink.backwards == 0);
    CHECK(totals.dropped == 0);
    if (!reads) CHECK(totals.filtered == totals.produced);
    if (how != mode::torn) {
      CHECK(totals.unread == 0);
      CHECK(sink.own <= emitted);
      if (reads && totals.overwritten == 0) {
        CHECK(sink.own == emitted);
        for (const auto& [name, count] : rows) CHECK(sink.names[name] == count);
      }
    }
    if (how == mode::exact) {
      CHECK(totals.produced == known.all());
      CHECK(rows["stress plain"] == known.plain);
      CHECK(rows["stress nested"] == known.nested);
      CHECK(rows["stress phase"] == known.phase);
      CHECK(row_bytes == known.bytes);
      CHECK(emitted == known.own);
      if (reads && totals.overwritten == 0) {
        CHECK(sink.scopes == known.scopes());
        CHECK(sink.steps == known.step);
        CHECK(sink.attributes == known.attribute);
      }
    }
    records += totals.produced;
    overwritten += totals.overwritten;
  } while (fs::monotonic_ns() < end || sessions[0] == 0);
  at.over.store(true, std::memory_order_release);
  at.closed.store(false, std::memory_order_release);
  std::uint64_t threads = 0;
  for (std::size_t i = 0; i < lanes; ++i) {
    pthread_join(ids[i], nullptr);
    threads += all[i]->threads;
  }
  CHECK(records > 0);
  MESSAGE(sessions[0], " exact, ", sessions[1], " wild, ", sessions[2], " torn sessions, ", threads,
          " threads, ", records, " records, ", overwritten, " overwritten");
}
