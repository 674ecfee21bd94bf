// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fabscope/session/replay.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <random>
#include <string>
#include <vector>

#include "victim.hpp"

namespace fs = fabscope;

namespace {

void wait_us(long us) {
  const timespec time{us / 1000000, us % 1000000 * 1000};
  ::nanosleep(&time, nullptr);
}

/// A directory in node-local memory, removed in the end with what lies in it.
class node_directory {
 public:
  node_directory() {
    char path[] = "/dev/shm/fabscope_kill_test.XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~node_directory() {
    for (const std::string& file : files()) ::unlink(file.c_str());
    ::rmdir(path_.c_str());
  }
  node_directory(const node_directory&) = delete;
  node_directory& operator=(const node_directory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> out;
    DIR* directory = ::opendir(path_.c_str());
    while (const dirent* entry = ::readdir(directory)) {
      if (entry->d_name[0] != '.') out.push_back(path_ + "/" + entry->d_name);
    }
    ::closedir(directory);
    return out;
  }

 private:
  std::string path_;
};

class running_victim {
 public:
  running_victim(const std::string& node, const char* level) {
    const int fd = ::memfd_create("victim", 0);
    REQUIRE(::ftruncate(fd, sizeof(victim::page)) == 0);
    void* at = ::mmap(nullptr, sizeof(victim::page), PROT_READ, MAP_SHARED, fd, 0);
    REQUIRE(at != MAP_FAILED);
    page_ = static_cast<const victim::page*>(at);
    const char* program = std::getenv("FABSCOPE_TEST_VICTIM");
    REQUIRE(program != nullptr);
    const std::string number = std::to_string(fd);
    const std::string directory = "FABSCOPE_NODE_DIR=" + node;
    std::vector<char*> environment{const_cast<char*>(directory.c_str())};
    for (char** one = environ; *one != nullptr; ++one) {
      if (std::strncmp(*one, "FABSCOPE_", 9) != 0) environment.push_back(*one);
    }
    environment.push_back(nullptr);
    char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(number.c_str()),
                               const_cast<char*>(level), nullptr};
    REQUIRE(::posix_spawn(&pid_, program, nullptr, nullptr, arguments, environment.data()) == 0);
    ::close(fd);
  }
  ~running_victim() {
    kill();
    ::munmap(const_cast<victim::page*>(page_), sizeof(victim::page));
  }
  running_victim(const running_victim&) = delete;
  running_victim& operator=(const running_victim&) = delete;

  /// Until every thread has written something. False if it ended instead.
  bool wait_for_load() {
    for (int i = 0; i < 60000; ++i) {
      bool all = true;
      for (unsigned t = 0; t < victim::threads; ++t) all &= next(t) > 0;
      if (all) return true;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = 0;
        return false;
      }
      wait_us(1000);
    }
    return false;
  }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = 0;
  }
  [[nodiscard]] bool was_killed() const {
    return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
  }
  [[nodiscard]] std::uint64_t next(unsigned thread) const {
    return __atomic_load_n(&page_->of[thread].next, __ATOMIC_SEQ_CST);
  }
  [[nodiscard]] std::uint64_t refused(unsigned thread) const { return page_->of[thread].refused; }

 private:
  const victim::page* page_ = nullptr;
  pid_t pid_ = 0;
  int status_ = 0;
};

/// True if the slot holds this record and nothing else.
bool holds(const fs::slot_line& line, std::uint64_t number, std::uint32_t thread,
           std::uint32_t ring) {
  victim::record found;
  std::memcpy(&found, line.word, sizeof found);
  victim::record expected = victim::make(number, thread);
  expected.header = found.header;
  return std::memcmp(&found, &expected, sizeof found) == 0 &&
         found.header.size == sizeof(victim::record) && found.header.thread == ring &&
         found.header.ticks != 0;
}

struct outcome {
  std::uint64_t records = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missing = 0;
};

/// Looks at one thread's ring. `next` is what the thread had published when it was killed.
outcome examine(const fs::segment_view& view, const std::string& file, std::uint32_t ring,
                std::uint64_t next, std::uint32_t thread) {
  outcome out;
  const auto& entry = view.threads()[ring];
  CHECK(entry.ring_mask + 1 == victim::slots);
  std::uint64_t first = 0;
  const auto lines = view.records(entry, &first);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!holds(lines[i], first + i, thread, ring)) ++out.wrong;
  }
  out.records = lines.size();
  const std::uint64_t head = first + lines.size();
  CHECK(head >= next);
  CHECK(head <= next + 1);
  const std::uint64_t oldest = next >= victim::slots ? next - victim::slots + 1 : 0;
  if (first > oldest) {
    // Record `next` had been finished and the one after it had not been begun, which only the
    // published number tells: the reader leaves out the slot that could have been half written.
    CHECK(first == oldest + 1);
    CHECK(head == next + 1);
    fs::slot_line line{};
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    const auto at = entry.ring_offset + (oldest & entry.ring_mask) * sizeof line;
    const bool read = ::pread(fd, &line, sizeof line, static_cast<off_t>(at)) ==
                      static_cast<ssize_t>(sizeof line);
    ::close(fd);
    if (!read || !holds(line, oldest, thread, ring)) ++out.missing;
  }
  return out;
}

struct answer {
  int status;
  std::string text;
};

answer ask_report(const std::string& arguments) {
  const std::string command =
      std::string(std::getenv("FABSCOPE_TEST_REPORT")) + " " + arguments + " 2>&1";
  answer out{-1, {}};
  std::FILE* pipe = ::popen(command.c_str(), "re");
  REQUIRE(pipe != nullptr);
  char text[4096];
  while (const std::size_t size = std::fread(text, 1, sizeof text, pipe))
    out.text.append(text, size);
  const int status = ::pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("segment.kill: at 20 random moments every record of every thread is there") {
  std::uint64_t seed = std::random_device{}();
  if (const char* chosen = std::getenv("FABSCOPE_TEST_SEED")) {
    seed = std::strtoull(chosen, nullptr, 10);
  }
  MESSAGE("FABSCOPE_TEST_SEED=", seed);
  std::mt19937_64 random(seed);
  std::uint64_t records = 0;
  for (int moment = 0; moment < 20; ++moment) {
    CAPTURE(moment);
    const node_directory node;
    const char* level = moment % 2 == 0 ? "record" : "count";
    running_victim process(node.path(), level);
    REQUIRE(process.wait_for_load());
    wait_us(static_cast<long>(random() % 50000));
    process.kill();
    REQUIRE(process.was_killed());

    const auto files = node.files();
    REQUIRE(files.size() == 1);
    const auto opened = fs::segment_view::open(files[0].c_str());
    REQUIRE(opened.has_value());
    const fs::segment_view& view = *opened;
    REQUIRE(view.threads().size() == victim::threads);
    std::vector<bool> seen(victim::threads);
    for (std::uint32_t ring = 0; ring < victim::threads; ++ring) {
      const auto lines = view.records(view.threads()[ring]);
      REQUIRE(!lines.empty());
      victim::record sample;
      std::memcpy(&sample, lines.back().word, sizeof sample);
      REQUIRE(sample.thread < victim::threads);
      CHECK(!seen[sample.thread]);
      seen[sample.thread] = true;
      CHECK(process.refused(sample.thread) == 0);
      const outcome out = examine(view, files[0], ring, process.next(sample.thread), sample.thread);
      CHECK(out.wrong == 0);
      CHECK(out.missing == 0);
      records += out.records;
    }
    const std::string report = fs::render_report(view);
    CHECK(has(report, "not finished"));
    CHECK(has(report, "== losses =="));

    if (std::getenv("FABSCOPE_TEST_REPORT") != nullptr) {
      const answer said = ask_report(files[0]);
      CHECK(said.status == 0);
      CHECK(has(said.text, "the process is gone"));
      CHECK(has(said.text, "records: produced "));
    }
  }
  MESSAGE(records, " records examined");
  CHECK(records > 20 * victim::threads);
}

TEST_CASE("segment.kill: fabscope-report lists, renders, decodes, converts and removes") {
  if (std::getenv("FABSCOPE_TEST_REPORT") == nullptr) return;
  const node_directory node;
  running_victim process(node.path(), "count");
  REQUIRE(process.wait_for_load());
  const auto files = node.files();
  REQUIRE(files.size() == 1);
  ::setenv("FABSCOPE_NODE_DIR", node.path().c_str(), 1);
  answer said = ask_report("");
  CHECK(said.status == 0);
  CHECK(has(said.text, " runs "));
  CHECK(has(said.text, files[0]));
  said = ask_report("--remove " + files[0]);
  CHECK(said.status == 0);
  CHECK(has(said.text, "the process runs"));
  CHECK(node.files().size() == 1);

  process.kill();
  said = ask_report("");
  CHECK(has(said.text, " gone "));
  said = ask_report("--records " + files[0]);
  CHECK(said.status == 0);
  CHECK(has(said.text, " victim_record number="));
  CHECK(!has(said.text, " ?"));
  said = ask_report("--jsonl --csv -o " + node.path() + " " + files[0]);
  CHECK(said.status == 0);
  CHECK(said.text.empty());  // no operation, no scope, no step: no file
  said = ask_report("--remove " + files[0]);
  CHECK(said.status == 0);
  CHECK(node.files().empty());
  said = ask_report("");
  CHECK(said.text == "no segments in " + node.path() + "\n");

  said = ask_report(files[0]);
  CHECK(said.status == 1);
  CHECK(said.text == "fabscope-report: " + files[0] + ": No such file or directory\n");
  said = ask_report(std::getenv("FABSCOPE_TEST_VICTIM"));
  CHECK(said.status == 1);
  CHECK(has(said.text, ": neither a segment nor a records.bin of this version\n"));
  said = ask_report("--nonsense");
  CHECK(said.status == 2);
  CHECK(has(said.text, "usage: "));
  ::unsetenv("FABSCOPE_NODE_DIR");
}

TEST_CASE("segment.kill: the records of a killed process go through a sink of one's own") {
  const node_directory node;
  running_victim process(node.path(), "count");
  REQUIRE(process.wait_for_load());
  process.kill();
  const auto files = node.files();
  REQUIRE(files.size() == 1);
  auto view = fs::segment_view::open(files[0].c_str());
  REQUIRE(view.has_value());
  fs::memory_sink<victim::record> sink;
  const std::uint64_t given = fs::replay<victim::record>(*view, sink);
  CHECK(given > 0);
  CHECK(sink.all<victim::record>().size() == given);
  CHECK(sink.finishes_total() == 1);
  std::size_t wrong = 0;
  for (const victim::record& r : sink.all<victim::record>()) wrong += r.inverse != ~r.number;
  CHECK(wrong == 0);
}
