// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fabscope/session.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/sink/any_sink.hpp>
#include <fabscope/sink/filter_sink.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace fabscope::literals;

namespace {

struct counting_sink {
  std::map<std::string, std::uint64_t> scopes;
  std::vector<fabscope::scope_record> all;
  std::set<std::int64_t> steps;
  int flushed = 0;
  int finished = 0;

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const auto& one : batch) {
      ++scopes[std::string(about.label(one.domain)) + "/" + std::string(about.label(one.name))];
      all.push_back(one);
    }
  }
  void consume(std::span<const fabscope::step_record> batch,
               const fabscope::sink_context&) noexcept {
    for (const auto& one : batch) steps.insert(one.number);
  }
  void flush(const fabscope::sink_context&) noexcept { ++flushed; }
  void finish(const fabscope::sink_context&) noexcept { ++finished; }
};

struct solver {
  static constexpr const char* name = "solver";
};

struct user_record {
  fabscope::record_header header;
  std::uint64_t answer = 0;
  static constexpr const char* type_name = "user";
  static constexpr bool is_row = false;
  static const fabscope::field fields[1];
};
inline constexpr fabscope::field user_record::fields[1] = {
    {"answer", "", offsetof(user_record, answer), fabscope::field_type::u64}};

struct user_sink {
  std::uint64_t sum = 0;
  void consume(std::span<const user_record> batch, const fabscope::sink_context&) noexcept {
    for (const auto& one : batch) sum += one.answer;
  }
  void flush(const fabscope::sink_context&) noexcept {}
};

fabscope::options quiet(fabscope::level level = fabscope::level::record) {
  fabscope::options chosen;
  chosen.run_level = level;
  chosen.outputs = fabscope::output_none;
  return chosen;
}

/// Rows of scopes as the segment of the running session has them, summed over threads.
std::map<std::string, std::uint64_t> counts_in_rows() {
  std::map<std::string, std::uint64_t> out;
  auto view =
      fabscope::segment_view::map(fabscope::detail::current_engine()->memory_file().descriptor());
  REQUIRE(view);
  view->rows<fabscope::scope_row>([&](const fabscope::scope_row& row, std::uint32_t) {
    out[std::string(view->label(row.name))] += row.count;
  });
  return out;
}

}  // namespace

TEST_CASE("session.session: scopes, steps and nesting reach a sink") {
  fabscope::session session(quiet());
  REQUIRE(session.status() == fabscope::errc::ok);
  counting_sink sink;
  REQUIRE(session.add_sink(sink) == fabscope::errc::ok);
  for (int n = 0; n < 10; ++n) {
    const fabscope::step step{n};
    fabscope::scope outer{"outer"_name, 100};
    const fabscope::scope_in<solver> inner{"inner"_name, 7, -n};
    outer.bytes(200);
  }
  session.finish();
  CHECK(sink.scopes ==
        std::map<std::string, std::uint64_t>{{"app/outer", 10}, {"solver/inner", 10}});
  CHECK(sink.steps.size() == 10);
  CHECK(sink.finished == 1);
  REQUIRE(sink.all.size() == 20);
  for (std::size_t i = 0; i < sink.all.size(); i += 2) {
    const auto& inner = sink.all[i];
    const auto& outer = sink.all[i + 1];
    CHECK(inner.depth == 1);
    CHECK(outer.depth == 0);
    CHECK(fabscope::cause(inner.parent).number() == outer.number);
    CHECK(fabscope::cause(inner.parent).kind() == fabscope::cause_kind::scope);
    CHECK(outer.parent == 0);
    CHECK(inner.header.ticks >= outer.header.ticks);
    CHECK(inner.end <= outer.end);
    CHECK(inner.bytes == 7);
    CHECK(outer.bytes == 200);
  }
  const auto totals = session.totals();
  CHECK(totals.produced == 30);
  CHECK(totals.written == 30);
}

TEST_CASE("session.session: one after the other, each with its own records") {
  for (int round = 0; round < 3; ++round) {
    fabscope::session session(quiet());
    counting_sink sink;
    session.add_sink(sink);
    for (int n = 0; n <= round; ++n) const fabscope::scope one{"round"_name};
    session.finish();
    CHECK(sink.scopes["app/round"] == static_cast<std::uint64_t>(round) + 1);
  }
  const fabscope::scope after{"round"_name};  // no session: nothing happens
  CHECK(fabscope::detail::find_session() == nullptr);
}

TEST_CASE("session.session: a second object joins the first") {
  fabscope::session first(quiet());
  fabscope::session second(quiet());
  CHECK(second.status() == fabscope::errc::ok);
  CHECK_FALSE(second.joined());
  counting_sink sink;
  REQUIRE(second.add_sink(sink) == fabscope::errc::ok);
  { const fabscope::scope one{"joined"_name}; }
  first.finish();
  CHECK(sink.scopes["app/joined"] == 1);
}

TEST_CASE("session.session: off does nothing") {
  fabscope::session session(quiet(fabscope::level::off));
  CHECK(fabscope::detail::find_session() == nullptr);
  counting_sink sink;
  CHECK(session.add_sink(sink) == fabscope::errc::unavailable);
  { const fabscope::scope one{"off"_name}; }
  CHECK_FALSE(fabscope::emit(user_record{}));
  session.finish();
  CHECK(session.totals().produced == 0);
}

TEST_CASE("session.session: recording can be switched off and on") {
  fabscope::session session(quiet());
  counting_sink sink;
  session.add_sink(sink);
  { const fabscope::scope one{"on"_name}; }
  session.enable(false);
  { const fabscope::scope one{"off"_name}; }
  session.enable(true);
  { const fabscope::scope one{"on"_name}; }
  session.finish();
  CHECK(sink.scopes == std::map<std::string, std::uint64_t>{{"app/on", 2}});
}

TEST_CASE("session.session: count keeps sums complete and records in the rings only") {
  fabscope::options chosen = quiet(fabscope::level::count);
  chosen.ring_slots = 64;
  fabscope::session session(chosen);
  counting_sink sink;
  session.add_sink(sink);
  for (int n = 0; n < 1000; ++n) const fabscope::scope one{"counted"_name, 3};
  CHECK(counts_in_rows()["counted"] == 1000);
  session.finish();
  CHECK(sink.scopes.empty());
  const auto totals = session.totals();
  CHECK(totals.produced == 1000);
  CHECK(totals.filtered == 1000);
  CHECK(totals.written == 0);
}

TEST_CASE("session.session: what a small ring loses is counted, and the sums stay complete") {
  fabscope::options chosen = quiet();
  chosen.ring_slots = 64;
  chosen.period_ms = 1000;
  fabscope::session session(chosen);
  counting_sink sink;
  session.add_sink(sink);
  constexpr std::uint64_t produced = 5000;
  for (std::uint64_t n = 0; n < produced; ++n) const fabscope::scope one{"many"_name};
  CHECK(counts_in_rows()["many"] == produced);
  session.finish();
  const auto totals = session.totals();
  CHECK(totals.produced == produced);
  CHECK(totals.overwritten > 0);
  CHECK(totals.written == sink.scopes["app/many"]);
  CHECK(totals.produced ==
        totals.written + totals.dropped + totals.overwritten + totals.filtered + totals.unread);
}

TEST_CASE("session.session: more names than rows end in the row that takes the rest") {
  fabscope::session session(quiet(fabscope::level::count));
  std::vector<std::string> names;
  for (int n = 0; n < 400; ++n) names.push_back("name" + std::to_string(n));
  std::vector<std::unique_ptr<fabscope::site>> sites;
  for (const auto& name : names) sites.push_back(std::make_unique<fabscope::site>(name));
  for (auto& site : sites) const fabscope::scope one{*site};
  std::uint64_t sum = 0;
  const auto counts = counts_in_rows();
  for (const auto& [name, count] : counts) sum += count;
  CHECK(sum == 400);
  CHECK(counts.at("") == 400 - (fabscope::detail::scope_rows - 1));
  session.finish();
}

TEST_CASE("session.session: records of the user's own type") {
  fabscope::session session(quiet());
  user_sink sink;
  REQUIRE(session.add_sink<user_record>(sink) == fabscope::errc::ok);
  for (std::uint64_t n = 1; n <= 100; ++n) CHECK(fabscope::emit(user_record{{}, n}));
  session.finish();
  CHECK(sink.sum == 5050);
}

TEST_CASE("session.session: threads come and go, none is lost, memory is used again") {
  fabscope::session session(quiet());
  counting_sink sink;
  session.add_sink(sink);
  constexpr int rounds = 50;
  constexpr int threads = 4;
  constexpr int each = 20;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([] {
        for (int n = 0; n < each; ++n) const fabscope::scope one{"churn"_name};
      });
    }
    for (auto& one : all) one.join();
    session.flush();
  }
  const std::uint64_t slots =
      fabscope::detail::current_engine()->memory_file().base().head.threads.count;
  CHECK(counts_in_rows()["churn"] == rounds * threads * each);
  session.finish();
  CHECK(sink.scopes["app/churn"] == rounds * threads * each);
  CHECK(slots < rounds * threads);
}

TEST_CASE("session.session: threads without room are counted one by one and record nothing") {
  fabscope::options chosen = quiet(fabscope::level::count);
  chosen.ring_slots = 64;
  fabscope::session session(chosen);
  constexpr std::uint32_t extra = 26;
  constexpr std::uint32_t threads = fabscope::segment_format::max_threads + extra;
  std::atomic<std::uint32_t> recorded{0};
  std::vector<std::thread> all;
  for (std::uint32_t n = 0; n < threads; ++n) {
    all.emplace_back([&] {
      for (int i = 0; i < 3; ++i) const fabscope::scope one{"crowd"_name};
      ++recorded;
      while (recorded != threads) std::this_thread::yield();
      const fabscope::scope one{"crowd"_name};
    });
  }
  for (auto& one : all) one.join();
  CHECK(fabscope::detail::current_engine()->memory_file().base().head.threads_refused == extra);
  CHECK(counts_in_rows()["crowd"] == 4 * fabscope::segment_format::max_threads);
  session.finish();
}

TEST_CASE("session.session: a limit on the size of files leaves the program alive") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);  // would end the child
    const rlimit limit{512 * 1024, 512 * 1024};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    fabscope::session session(quiet(fabscope::level::count));
    { const fabscope::scope one{"limited"_name}; }
    session.finish();
    ::_exit(session.status() == fabscope::errc::no_space ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("session.session: flush makes everything before it visible") {
  fabscope::session session(quiet());
  counting_sink sink;
  session.add_sink(sink);
  { const fabscope::scope one{"early"_name}; }
  session.flush();
  CHECK(sink.scopes["app/early"] == 1);
  CHECK(sink.flushed >= 1);
  session.finish();
}

TEST_CASE("session.session: the child of a fork records nothing and writes nothing") {
  fabscope::session session(quiet());
  counting_sink sink;
  session.add_sink(sink);
  { const fabscope::scope before{"before"_name}; }
  {
    const fabscope::scope open{"open"_name};
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      { const fabscope::scope in_child{"child"_name}; }
      fabscope::emit(user_record{});
      session.flush();
      session.finish();
      const fabscope::session second(quiet());
      const bool silent = fabscope::detail::current_engine() == nullptr && sink.finished == 0 &&
                          second.status() == fabscope::errc::unavailable;
      ::_exit(silent ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  session.finish();
  CHECK(sink.scopes == std::map<std::string, std::uint64_t>{{"app/before", 1}, {"app/open", 1}});
}

TEST_CASE("session.session: stamps become CLOCK_MONOTONIC within a microsecond") {
  fabscope::session session(quiet());
  struct time_sink {
    std::vector<std::uint64_t> begins;
    void consume(std::span<const fabscope::scope_record> batch,
                 const fabscope::sink_context& about) noexcept {
      for (const auto& one : batch) begins.push_back(about.ns(one.header.ticks));
    }
    void flush(const fabscope::sink_context&) noexcept {}
  } sink;
  session.add_sink(sink);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> brackets;
  for (int n = 0; n < 2000; ++n) {
    const std::uint64_t before = fabscope::monotonic_ns();
    const fabscope::scope one{"stamped"_name};
    brackets.emplace_back(before, fabscope::monotonic_ns());
  }
  session.finish();
  REQUIRE(sink.begins.size() == brackets.size());
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    CHECK(sink.begins[i] + 1000 >= brackets[i].first);
    CHECK(sink.begins[i] <= brackets[i].second + 1000);
  }
}

TEST_CASE("session.session: the C table pushes, pops and steps") {
  fabscope::session session(quiet());
  counting_sink sink;
  session.add_sink(sink);
  const fabscope_table* table = fabscope::detail::find_session();
  REQUIRE(table != nullptr);
  table->step(1);
  table->push("python");
  table->push("inner");
  table->pop(10, 1);
  table->pop(20, 2);
  table->pop(0, 0);  // one too many: ignored
  table->step(2);
  for (int n = 0; n < 100; ++n) table->push("deep");
  for (int n = 0; n < 100; ++n) table->pop(0, 0);
  table->flush();
  session.finish();
  CHECK(sink.scopes["app/python"] == 1);
  CHECK(sink.scopes["app/inner"] == 1);
  CHECK(sink.scopes["app/deep"] == 64);
  CHECK(sink.steps == std::set<std::int64_t>{1});
  CHECK(table->thread() == nullptr);  // after the end every function says no
  CHECK(table->label("x", 1) == 0);
}

TEST_CASE("session.session: no room for a segment file leaves a session that is not kill-safe") {
  fabscope::options chosen = quiet();
  chosen.node_dir = "/proc";  // exists, and nothing can be created there
  fabscope::session session(chosen);
  REQUIRE(session.status() == fabscope::errc::ok);
  counting_sink sink;
  session.add_sink(sink);
  CHECK_FALSE(fabscope::detail::current_engine()->memory_file().why_volatile().empty());
  { const fabscope::scope one{"still"_name}; }
  session.finish();
  CHECK(sink.scopes["app/still"] == 1);
}

TEST_CASE("session.session: a sink that the session owns, of a type chosen at run time") {
  static int alive;
  static int finished;
  alive = finished = 0;
  struct owned {
    owned() noexcept { ++alive; }
    owned(owned&&) noexcept { ++alive; }
    ~owned() { --alive; }
    void consume(std::span<const fabscope::scope_record>, const fabscope::sink_context&) noexcept {}
    void flush(const fabscope::sink_context&) noexcept {}
    void finish(const fabscope::sink_context&) noexcept { ++finished; }
  };
  fabscope::session session(quiet());
  REQUIRE(session.add_sink(owned()) == fabscope::errc::ok);
  REQUIRE(session.add_sink(fabscope::any_sink(owned())) == fabscope::errc::ok);
  CHECK(alive == 2);
  { const fabscope::scope one{"owned"_name}; }
  session.finish();
  CHECK(finished == 2);
  CHECK(alive == 0);
  CHECK(session.totals().written == 1);
  CHECK(session.add_sink(owned()) == fabscope::errc::unavailable);
  CHECK(alive == 0);
}

TEST_CASE("session.session: what one sink filters and another one keeps is written") {
  fabscope::session session(quiet());
  counting_sink all;
  fabscope::memory_sink<fabscope::scope_record> large;
  fabscope::any_sink no_scopes{fabscope::memory_sink<fabscope::step_record>()};
  session.add_sink(fabscope::filter_sink(
      large, [](const fabscope::scope_record& r) noexcept { return r.bytes >= 8; }));
  session.add_sink(no_scopes);
  for (std::uint64_t n = 0; n < 10; ++n) const fabscope::scope one{"sized"_name, n};
  session.flush();
  auto totals = session.totals();
  CHECK(large.all<fabscope::scope_record>().size() == 2);
  CHECK(totals.written == 2);
  CHECK(totals.filtered == 8);
  session.add_sink(all);
  for (std::uint64_t n = 0; n < 10; ++n) const fabscope::scope one{"sized"_name, n};
  session.finish();
  totals = session.totals();
  CHECK(totals.written == 12);
  CHECK(totals.filtered == 8);
  CHECK(totals.produced ==
        totals.written + totals.dropped + totals.overwritten + totals.filtered + totals.unread);
}
