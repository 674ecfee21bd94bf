// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic.hpp>
#include <fabscope/session.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/fake_tree.hpp"

using namespace fabscope;

namespace {

void pause_ms(long ms) {
  const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

/// A tree with `count` registers of one cxi device, and a place for files.
struct place {
  fake::tree tree;
  std::string telemetry = tree.cxi(0, "0000:41:00.0");
  explicit place(int count = 10) {
    for (int i = 0; i < count; ++i) set(i, static_cast<std::uint64_t>(i));
    std::filesystem::create_directories(tree.base() + "/node");
  }
  void set(int i, std::uint64_t value) const {
    char name[32];
    std::snprintf(name, sizeof name, "/hni_test_%03d", i);
    tree.counter(telemetry + name, value);
  }
  fabscope::options session() const {
    fabscope::options out;
    out.directory = tree.base() + "/out";
    out.node_dir = tree.base() + "/node";
    return out;
  }
  nic::sampler_options sampler(std::uint32_t period_ms) const {
    nic::sampler_options out;
    out.period_ms = period_ms;
    out.counters = "hni_test_*";
    out.where = tree.roots();
    return out;
  }
  std::vector<std::string> files(const std::string& kind) const {
    std::vector<std::string> out;
    if (!std::filesystem::exists(tree.base() + "/out")) return out;
    for (const auto& one : std::filesystem::directory_iterator(tree.base() + "/out")) {
      const std::string name = one.path().string();
      if (name.size() > kind.size() && name.substr(name.size() - kind.size()) == kind)
        out.push_back(name);
    }
    return out;
  }
  std::string text(const std::string& kind) const {
    std::stringstream out;
    for (const std::string& one : files(kind)) out << std::ifstream(one).rdbuf();
    return out.str();
  }
};

struct row {
  std::vector<std::string> field;
  [[nodiscard]] std::uint64_t number(std::size_t i) const { return std::stoull(field[i]); }
};

struct table {
  std::vector<std::string> title;
  std::vector<row> rows;
  std::vector<std::string> comments;

  explicit table(const std::string& text) {
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line[0] == '#') {
        comments.push_back(line);
        continue;
      }
      row one;
      std::stringstream fields(line);
      for (std::string field; std::getline(fields, field, ',');) one.field.push_back(field);
      if (title.empty()) {
        title = one.field;
      } else {
        rows.push_back(one);
      }
    }
  }
};

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Waits until something holds, at most ten seconds.
template <class Holds>
bool until(Holds&& holds) {
  for (int i = 0; i < 2000; ++i) {
    if (holds()) return true;
    pause_ms(5);
  }
  return false;
}

}  // namespace

TEST_CASE("nic.session_part: values, titles and counts of nic.csv") {
  const place here;
  {
    session recording(here.session());
    REQUIRE(nic::start(here.sampler(5)) == errc::ok);
    CHECK(nic::start(here.sampler(7)) == errc::ok);  // changes nothing
    for (int n = 0; n < 40; ++n) {
      here.set(3, 1000 + static_cast<std::uint64_t>(n));
      pause_ms(5);
    }
  }
  const table csv(here.text("nic.csv"));
  REQUIRE(csv.title.size() == 14);
  CHECK(csv.title[0] == "t_ns");
  CHECK(csv.title[1] == "wall_ns");
  CHECK(csv.title[2] == "cxi0:hni_test_000");
  CHECK(csv.title[11] == "cxi0:hni_test_009");
  CHECK(csv.title[12] == "sweep_ns");
  REQUIRE(csv.rows.size() > 5);
  std::uint64_t last = 0;
  std::uint64_t time = 0;
  for (const row& one : csv.rows) {
    REQUIRE(one.field.size() == 14);
    CHECK(one.number(2) == 0);
    CHECK(one.number(11) == 9);
    CHECK((one.number(5) == 3 || (one.number(5) >= 1000 && one.number(5) < 1040)));
    CHECK(one.number(5) >= last);
    CHECK(one.number(0) > time);
    last = one.number(5);
    time = one.number(0);
  }
  CHECK(last == 1039);
  REQUIRE(csv.comments.size() == 6);
  CHECK(csv.comments[4].find("# dev cxi0 nic_addr=? nid=0x1a") == 0);
  CHECK(csv.comments[5].find(" samples=" + std::to_string(csv.rows.size()) + " ") !=
        std::string::npos);
  const std::string report = here.text("report.txt");
  CHECK(report.find("== nic devices ==") != std::string::npos);
  CHECK(report.find("cxi0") != std::string::npos);
}

TEST_CASE(
    "nic.session_part: 110 counters every millisecond for 3 s: each tick is there or missed") {
  const place here(110);
  std::vector<std::uint64_t> written(1);
  std::uint64_t memory_before = 0;
  {
    session recording(here.session());
    REQUIRE(nic::start(here.sampler(1)) == errc::ok);
    const char* longer = std::getenv("NIC_TEST_SECONDS");
    const std::uint64_t seconds = longer == nullptr ? 3 : std::stoull(longer);
    const std::uint64_t start = monotonic_ns();
    while (monotonic_ns() < start + seconds * 1'000'000'000) {
      if (memory_before == 0 && monotonic_ns() > start + 1'000'000'000)
        memory_before = resident_bytes();
      here.set(7, written.size());
      written.push_back(written.size());
      pause_ms(1);
    }
    CHECK(resident_bytes() < memory_before + 16'000'000);
  }
  const table csv(here.text("nic.csv"));
  REQUIRE(csv.title.size() == 114);
  REQUIRE(csv.rows.size() > 100);
  std::uint64_t points = 0;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const row& one = csv.rows[i];
    REQUIRE(one.field.size() == 114);
    REQUIRE(one.number(2 + 109) == 109);
    REQUIRE(one.number(2 + 7) < written.size() + 7);
    if (i != 0) points += 1 + one.number(113);
  }
  // From the first to the last but one, which is taken at the end and on no point of the grid.
  const std::uint64_t span = csv.rows[csv.rows.size() - 2].number(0) - csv.rows[0].number(0);
  points -= 1 + csv.rows.back().number(113);
  const auto expected = static_cast<double>(span) / 1e6;
  CHECK(static_cast<double>(points) > expected - 2);
  CHECK(static_cast<double>(points) < expected + 2);
  CHECK(csv.comments.back().find(" overwritten=0") != std::string::npos);
}

TEST_CASE("nic.session_part: the cap on nic.csv is kept, and what is missing is counted") {
  const place here(100);
  {
    nic::sampler_options small = here.sampler(1);
    small.max_mb = 1;
    session recording(here.session());
    REQUIRE(nic::start(small) == errc::ok);
    const std::uint64_t end = monotonic_ns() + 1'500'000'000;
    for (std::uint64_t n = 0; monotonic_ns() < end; ++n) {
      for (int i = 0; i < 100; ++i) here.set(i, ~std::uint64_t{0} / 512 - n);
    }
  }
  const auto names = here.files("nic.csv");
  REQUIRE(names.size() == 1);
  CHECK(std::filesystem::file_size(names[0]) < 1'000'600);
  const std::string report = here.text("report.txt");
  CHECK(report.find("== nic devices ==") != std::string::npos);
}

TEST_CASE("nic.session_part: off, without devices and without a session nothing is started") {
  const place here;
  CHECK(nic::start(here.sampler(5)) == errc::unavailable);
  {
    session recording(here.session());
    nic::sampler_options off = here.sampler(5);
    off.on = false;
    CHECK(nic::start(off) == errc::unavailable);
    CHECK(nic::start_with_fabric(here.sampler(5)) == errc::ok);  // no fabric is ever opened
    pause_ms(60);
  }
  CHECK(here.files("nic.csv").empty());
}

namespace {

/// One process of a node: samples or not, until it is told to end or killed.
struct node_process {
  pid_t pid = -1;
  int to = -1;

  explicit node_process(const place& here, std::uint32_t period_ms) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      ::close(pipe_ends[1]);
      {
        session recording(here.session());
        (void)nic::start(here.sampler(period_ms));
        ::alarm(60);  // whatever becomes of the test
        char end;
        while (::read(pipe_ends[0], &end, 1) < 0) {
        }
      }
      ::_exit(0);
    }
    ::close(pipe_ends[0]);
    to = pipe_ends[1];
    ::fcntl(to, F_SETFD, FD_CLOEXEC);
  }
  node_process(const node_process&) = delete;
  node_process(node_process&& other) noexcept
      : pid(std::exchange(other.pid, -1)), to(std::exchange(other.to, -1)) {}
  ~node_process() {
    if (pid > 0) end();
  }
  void end() {
    // A byte and not the pipe's end: processes that were started later have that end too.
    const bool told = ::write(to, "x", 1) == 1;
    (void)told;
    ::close(to);
    (void)::waitpid(std::exchange(pid, -1), nullptr, 0);
  }
  void kill() {
    ::kill(pid, SIGKILL);
    ::close(to);
    (void)::waitpid(std::exchange(pid, -1), nullptr, 0);
  }
};

std::string lock_of(const place& here) {
  return nic::node_lock::path_for(here.tree.base() + "/node",
                                  read_identity(environment::of_process(), nullptr).job,
                                  here.tree.roots(), nic::find_devices(here.tree.roots()).front());
}

/// The samples that the holder of the lock has, as any process of the node reads them.
std::uint64_t samples_of(const nic::lock_holder& holder) {
  const auto view = segment_view::open(holder.segment.c_str());
  std::uint64_t out = 0;
  if (!view) return 0;
  std::size_t columns = 0;
  view->rows<nic_sampler_row>([&](const nic_sampler_row& one, std::uint32_t) {
    columns = static_cast<std::size_t>(one.columns);
  });
  std::vector<nic_block_row> blocks;
  view->rows<nic_block_row>(
      [&](const nic_block_row& one, std::uint32_t) { blocks.push_back(one); });
  (void)decode_samples(blocks, blocks.size(), columns, [&](const nic_sample& one) {
    if (one.states[4] == sample_state::good && one.values[4] == 4) ++out;
  });
  return out;
}

void node_of(int count) {
  const place here;
  constexpr std::uint32_t period_ms = 50;
  std::vector<node_process> all;
  for (int i = 0; i < count; ++i) all.emplace_back(here, period_ms);
  const std::string lock = lock_of(here);
  nic::lock_holder first;
  REQUIRE(until([&] {
    first = nic::node_lock::read_holder(lock);
    return first.pid != 0 && samples_of(first) > 2;
  }));
  // The sampler is killed: another one has the lock and samples.
  std::uint64_t killed_at = 0;
  for (node_process& one : all) {
    if (one.pid != first.pid) continue;
    one.kill();
    killed_at = monotonic_ns();
  }
  REQUIRE(killed_at != 0);
  nic::lock_holder second;
  REQUIRE(until([&] {
    second = nic::node_lock::read_holder(lock);
    return second.pid != 0 && second.pid != first.pid;
  }));
  const std::uint64_t replaced_ns = monotonic_ns() - killed_at;
  MESSAGE(count << " processes, period " << period_ms << " ms: replaced after "
                << replaced_ns / 1'000'000 << " ms");
  CHECK(replaced_ns < 2'000'000 * std::uint64_t{period_ms} + 400'000'000);  // a busy machine
  REQUIRE(until([&] { return samples_of(second) > 1; }));
  all.clear();
  // Of the others only one at a time has written samples, and all have them in their reports.
  std::size_t reports = 0;
  for (const std::string& one : here.files("report.txt")) {
    std::stringstream text;
    text << std::ifstream(one).rdbuf();
    reports += text.str().find("hni_test") != std::string::npos ||
                       text.str().find("cxi0") != std::string::npos
                   ? 1U
                   : 0U;
  }
  CHECK(reports == static_cast<std::size_t>(count) - 1);
  CHECK_FALSE(std::filesystem::exists(lock));
}

}  // namespace

TEST_CASE("nic.session_part: two processes of a node, one samples, a killed one is replaced") {
  node_of(2);
}
TEST_CASE("nic.session_part: eight processes of a node, one samples, a killed one is replaced") {
  node_of(8);
}
