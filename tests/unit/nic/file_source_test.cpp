// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/file_source.hpp>

#include <sys/resource.h>

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/fake_tree.hpp"

using namespace fabscope;
using nic::counter_column;
using nic::file_source;

namespace {

counter_column column(const fake::tree& tree, const std::string& name, unsigned bits = 64,
                      bool ones = false) {
  counter_column out;
  out.device = "d";
  out.name = name;
  out.path = tree.base() + "/" + name;
  out.format.bits = static_cast<std::uint8_t>(bits);
  out.format.ones_are_error = ones;
  return out;
}

/// Answers of a driver, instead of a file's.
struct scripted_files {
  static inline int error = 0;
  static inline int closed = 0;
  static inline const char* text = "1\n";
  static int open(const char* path, int flags) noexcept {
    return nic::system_files::open(path, flags);
  }
  static ssize_t pread(int, void* to, std::size_t size) noexcept {
    if (error != 0) {
      errno = error;
      return -1;
    }
    const std::size_t length = std::strlen(text);
    std::memcpy(to, text, length < size ? length : size);
    return static_cast<ssize_t>(length);
  }
  static int close(int fd) noexcept {
    ++closed;
    return ::close(fd);
  }
};

}  // namespace

static_assert(nic::counter_source<file_source<>>);

TEST_CASE("nic.file_source: values that are rewritten in place") {
  fake::tree tree;
  tree.counter("a", 1);
  tree.counter("b", 2);
  file_source<> source({column(tree, "a"), column(tree, "b")});
  REQUIRE(source.open());
  std::uint64_t values[2];
  sample_state states[2];
  for (std::uint64_t n = 0; n < 100; ++n) {
    tree.counter("b", n * 1000003);
    REQUIRE(source.read(values, states));
    CHECK(states[0] == sample_state::good);
    CHECK(values[0] == 1);
    CHECK(values[1] == n * 1000003);
  }
}

TEST_CASE("nic.file_source: what cannot be read as a number has no column") {
  fake::tree tree;
  tree.write("text", "N/A (no PMA)\n");
  tree.write("empty", "");
  tree.write("garbage", "\x01\x02garbage");
  tree.write("crlf", "42\r\n");
  tree.write("name,32", "7\n");
  file_source<> source({column(tree, "text"), column(tree, "empty"), column(tree, "missing"),
                        column(tree, "garbage"), column(tree, "crlf"), column(tree, "name,32")});
  REQUIRE(source.open());
  REQUIRE(source.columns().size() == 2);
  CHECK(source.left_out() == 4);
  std::uint64_t values[2];
  sample_state states[2];
  REQUIRE(source.read(values, states));
  CHECK(values[0] == 42);
  CHECK(values[1] == 7);
}

TEST_CASE("nic.file_source: an error is a missing value and no zero; the descriptor stays") {
  fake::tree tree;
  tree.counter("a", 1);
  using source_type = file_source<scripted_files>;
  scripted_files::error = 0;
  source_type source({column(tree, "a")});
  REQUIRE(source.open());
  std::uint64_t value = 99;
  sample_state state = sample_state::good;
  for (const int error : {EINVAL, EIO, EACCES, EPERM, EAGAIN}) {
    scripted_files::error = error;
    CHECK(source.read(&value, &state));
    CHECK(state == sample_state::missing);
    CHECK(value == 99);
  }
  for (const int error : {ENODEV, ENXIO, ENOENT, ENOTCONN}) {
    scripted_files::error = error;
    CHECK_FALSE(source.read(&value, &state));
    CHECK(state == sample_state::missing);
  }
  scripted_files::error = 0;
  scripted_files::text = "N/A (no PMA)\n";
  CHECK(source.read(&value, &state));
  CHECK(state == sample_state::invalid);
  scripted_files::text = "1\n";
  CHECK(source.read(&value, &state));
  CHECK(state == sample_state::good);
  CHECK(value == 1);
}

TEST_CASE("nic.file_source: all ones of a dead device are invalid, by the counter's width") {
  fake::tree tree;
  tree.write("wide", "72057594037927935@1700000000.000000001\n");
  tree.write("narrow", "4095@1700000000.000000001\n");
  tree.write("beyond", "70000\n");
  file_source<> source({column(tree, "wide", 56, true), column(tree, "narrow", 12, true),
                        column(tree, "beyond", 16)});
  REQUIRE(source.open());
  std::uint64_t values[3];
  sample_state states[3];
  REQUIRE(source.read(values, states));
  for (const sample_state one : states) CHECK(one == sample_state::invalid);
  tree.write("wide", "00000000000000005@1700000000.000000001\n");
  REQUIRE(source.read(values, states));
  CHECK(states[0] == sample_state::good);
  CHECK(values[0] == 5);
}

TEST_CASE("nic.file_source: opened for each read where a held file is stale") {
  fake::tree tree;
  tree.counter("a", 1);
  file_source<> source({column(tree, "a")}, true);
  REQUIRE(source.open());
  std::uint64_t value = 0;
  sample_state state{};
  REQUIRE(source.read(&value, &state));
  CHECK(value == 1);
  tree.remove("a");  // a held descriptor would still read 1
  CHECK_FALSE(source.read(&value, &state));
  CHECK(state == sample_state::missing);
  tree.counter("a", 3);
  REQUIRE(source.read(&value, &state));
  CHECK(value == 3);
}

TEST_CASE("nic.file_source: too many open files leave columns missing until there is room") {
  fake::tree tree;
  std::vector<counter_column> wanted;
  for (int i = 0; i < 60; ++i) {
    tree.counter("c" + std::to_string(i), static_cast<std::uint64_t>(i));
    wanted.push_back(column(tree, "c" + std::to_string(i)));
  }
  const int next = ::dup(0);
  ::close(next);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 20;
  file_source<> source(std::move(wanted));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const bool opened = source.open();
  std::vector<std::uint64_t> values(60);
  std::vector<sample_state> states(60);
  const bool read = source.read(values.data(), states.data());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(opened);
  REQUIRE(read);
  REQUIRE(source.columns().size() == 60);
  CHECK(states[0] == sample_state::good);
  CHECK(states[59] == sample_state::missing);
  source.complete();
  REQUIRE(source.read(values.data(), states.data()));
  for (std::size_t i = 0; i < 60; ++i) {
    CHECK(states[i] == sample_state::good);
    CHECK(values[i] == i);
  }
}
