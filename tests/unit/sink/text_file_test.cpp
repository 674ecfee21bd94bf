// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fabscope/sink/text_file.hpp>
#include <string>

namespace fs = fabscope;

namespace {

struct temporary_directory {
  temporary_directory() {
    const char* base = std::getenv("TMPDIR");
    path = std::string(base != nullptr ? base : "/tmp") + "/fabscope_text_file.XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
  }
  ~temporary_directory() {
    ::unlink((path + "/f").c_str());
    ::rmdir(path.c_str());
  }
  [[nodiscard]] std::string file() const { return path + "/f"; }
  std::string path;
};

std::string contents(const std::string& path) {
  std::string text;
  if (std::FILE* in = std::fopen(path.c_str(), "rb")) {
    char part[4096];
    while (const std::size_t n = std::fread(part, 1, sizeof part, in)) text.append(part, n);
    std::fclose(in);
  }
  return text;
}

bool adds_up(const fs::text_file& f) {
  return f.rows_total() == f.rows_written() + f.rows_lost() + f.rows_buffered();
}

}  // namespace

TEST_CASE("sink.text_file: what is accepted is in the file, in order") {
  temporary_directory dir;
  auto file = fs::text_file::open(dir.file().c_str(), {.buffer_bytes = 4096});
  REQUIRE(file.has_value());
  std::string expected;
  for (std::uint64_t n = 0; n < 5000; ++n) {
    CHECK(file->row([&](fs::text_writer& w) { w.u64(n).ch(',').u64(n * n).ch('\n'); }));
    expected += std::to_string(n) + "," + std::to_string(n * n) + "\n";
  }
  CHECK(adds_up(*file));
  CHECK(file->rows_written() > 0);
  CHECK(file->close() == fs::errc::ok);
  CHECK(file->rows_written() == 5000);
  CHECK(file->rows_lost() == 0);
  CHECK(file->bytes_written() == expected.size());
  CHECK(contents(dir.file()) == expected);
  CHECK(!file->row("late\n"));
  CHECK(file->rows_lost() == 1);
  CHECK(adds_up(*file));
  // An existing file is left alone unless the caller says otherwise.
  CHECK(fs::text_file::open(dir.file().c_str()).error() == fs::errc::invalid_argument);
  CHECK(contents(dir.file()) == expected);
  auto again = fs::text_file::open(dir.file().c_str(), {.may_exist = true});
  REQUIRE(again.has_value());
  CHECK(contents(dir.file()).empty());
  CHECK(fs::text_file::open("/nonexistent/f").error() == fs::errc::unavailable);
}

TEST_CASE("sink.text_file: a row longer than the buffer is lost alone") {
  temporary_directory dir;
  auto file = fs::text_file::open(dir.file().c_str(), {.buffer_bytes = 4096});
  REQUIRE(file.has_value());
  CHECK(file->row("a\n"));
  CHECK(!file->row(std::string(5000, 'x')));
  CHECK(file->row(std::string(4096, 'y')));
  CHECK(file->close() == fs::errc::ok);
  CHECK(file->rows_too_long() == 1);
  CHECK(file->rows_lost() == 1);
  CHECK(contents(dir.file()) == "a\n" + std::string(4096, 'y'));
}

TEST_CASE("sink.text_file: files that share a budget stop at it, rows whole") {
  temporary_directory dir;
  fs::byte_budget budget{10};
  auto file = fs::text_file::open(dir.file().c_str(), {.budget = &budget});
  REQUIRE(file.has_value());
  CHECK(file->row("1234\n"));
  CHECK(!file->capped());
  CHECK(!file->row("123456\n"));
  CHECK(file->capped());
  CHECK(!file->row("1\n"));  // no holes: what follows a lost row is lost too
  CHECK(file->close() == fs::errc::ok);
  CHECK(file->rows_lost() == 2);
  CHECK(budget.left == 5);
  CHECK(contents(dir.file()) == "1234\n");
}

TEST_CASE(
    "sink.text_file: a device without space keeps its first error, and the counts stay right") {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  auto file = fs::text_file::adopt(fd, {.buffer_bytes = 4096});
  REQUIRE(file.has_value());
  for (int i = 0; i < 1000; ++i) (void)file->row("0123456789\n");
  CHECK(file->status() == fs::errc::no_space);
  CHECK(file->error_number() == ENOSPC);
  CHECK(file->rows_written() == 0);
  CHECK(file->rows_lost() == 1000);
  CHECK(adds_up(*file));
  CHECK(file->close() == fs::errc::no_space);
}

TEST_CASE("sink.text_file: a write cut short leaves whole rows and exact counts") {
  temporary_directory dir;
  const std::string path = dir.file();
  // A child, because the limit on the size of files belongs to the process.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);  // would end the child
    const ::rlimit limit{1003, 1003};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(1);
    auto file = fs::text_file::open(path.c_str(), {.buffer_bytes = 4096});
    if (!file) ::_exit(2);
    for (int i = 0; i < 500; ++i) (void)file->row("0123456\n");
    if (file->close() != fs::errc::no_space) ::_exit(3);
    if (file->rows_written() != 125 || file->rows_lost() != 375) ::_exit(4);
    if (file->bytes_written() != 1000) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(contents(path).size() == 1000);
}

TEST_CASE("sink.text_file: where a write fails, rows make room for the last one") {
  temporary_directory dir;
  const std::string path = dir.file();
  for (const std::size_t limit_bytes : {50U, 1000U, 4096U, 9000U, 20001U}) {
    for (const int flush_every : {0, 1, 7, 100}) {
      CAPTURE(limit_bytes);
      CAPTURE(flush_every);
      ::unlink(path.c_str());
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        const ::rlimit limit{limit_bytes, limit_bytes};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(1);
        auto file = fs::text_file::open(path.c_str(), {.buffer_bytes = 4096, .tail_bytes = 200});
        if (!file) ::_exit(2);
        for (int i = 1; i <= 5000; ++i) {
          (void)file->row("0123456\n");
          if (flush_every != 0 && i % flush_every == 0) (void)file->flush();
        }
        (void)file->flush();
        const std::uint64_t before = file->rows_written();
        if (!file->last_row([](fs::text_writer& w) { w.text(std::string(150, 'e')).ch('\n'); }))
          ::_exit(3);
        if (file->close() != fs::errc::no_space || file->error_number() != EFBIG) ::_exit(4);
        if (file->rows_written() != before + (limit_bytes < 151 ? 0 : 1)) ::_exit(5);
        if (!adds_up(*file) || file->rows_total() != 5001) ::_exit(6);
        ::_exit(file->bytes_written() == 8 * before + 151 ? 0 : 7);
      }
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == (limit_bytes < 151 ? 3 : 0));
      const std::string text = contents(path);
      if (limit_bytes < 151) {
        CHECK(text.empty());
        continue;
      }
      // Whole rows, the last one whole, and little given away: the room for it and what a few
      // small flushes hold.
      CHECK(text.substr(text.size() - 151) == std::string(150, 'e') + "\n");
      CHECK((text.size() - 151) % 8 == 0);
      CHECK(text.size() <= limit_bytes);
      CHECK(text.size() + 3 * 200 >= limit_bytes);
    }
  }
}

TEST_CASE("sink.text_file: what was in a file that somebody removed is lost, a moved one is kept") {
  temporary_directory dir;
  for (const bool removed : {true, false}) {
    auto file = fs::text_file::open(dir.file().c_str(), {});
    REQUIRE(file.has_value());
    CHECK(file->row("1\n"));
    CHECK(file->flush() == fs::errc::ok);
    CHECK(file->rows_written() == 1);
    if (removed) {
      REQUIRE(::unlink(dir.file().c_str()) == 0);
    } else {
      REQUIRE(::rename(dir.file().c_str(), (dir.path + "/g").c_str()) == 0);
    }
    CHECK(file->row("2\n"));
    CHECK(file->close() == (removed ? fs::errc::unavailable : fs::errc::ok));
    CHECK(file->removed() == removed);
    CHECK(file->rows_written() == (removed ? 0 : 2));
    CHECK(file->rows_lost() == (removed ? 2 : 0));
    CHECK(adds_up(*file));
  }
  CHECK(contents(dir.path + "/g") == "1\n2\n");
  ::unlink((dir.path + "/g").c_str());
}
