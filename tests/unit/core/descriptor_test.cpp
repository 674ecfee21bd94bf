// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fabscope/core/descriptor.hpp>
#include <string>

namespace fs = fabscope;

namespace {

/// Runs body() in a child, because signals and limits belong to the process; its number, or that
/// of the signal that ended it plus 1000.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// The writing end of a pipe that nobody reads.
int broken_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::close(ends[0]);
  return ends[1];
}

bool is_pending(int number) {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, number) == 1;
}

}  // namespace

TEST_CASE("core.descriptor: a pipe without reader is an error and no signal") {
  // The same write without the guard ends the process: the test can fail.
  CHECK(in_child([] {
          ::signal(SIGPIPE, SIG_DFL);
          return ::write(broken_pipe(), "x", 1) == 1 ? 0 : 1;
        }) == 1000 + SIGPIPE);
  CHECK(in_child([] {
          ::signal(SIGPIPE, SIG_DFL);
          const fs::write_result end = fs::write_all(broken_pipe(), "x", 1);
          if (end.done != 0 || end.error != EPIPE) return 1;
          sigset_t mask;
          ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
          return ::sigismember(&mask, SIGPIPE) == 1 || is_pending(SIGPIPE) ? 2 : 0;
        }) == 0);
}

TEST_CASE("core.descriptor: the limit on the size of files is an error and no signal") {
  const auto limited = [](auto write) {
    return in_child([write] {
      ::signal(SIGXFSZ, SIG_DFL);
      char path[] = "/tmp/fabscope_descriptor.XXXXXX";
      const int fd = ::mkstemp(path);
      ::unlink(path);
      const ::rlimit limit{100, 100};
      if (fd < 0 || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 9;
      return write(fd, std::string(150, 'x'));
    });
  };
  CHECK(limited([](int fd, const std::string& text) {
          const auto first = ::write(fd, text.data(), text.size());
          return ::write(fd, text.data(), text.size()) == first ? 0 : 1;
        }) == 1000 + SIGXFSZ);
  CHECK(limited([](int fd, const std::string& text) {
          const fs::write_result end = fs::write_all(fd, text.data(), text.size());
          return end.done == 100 && end.error == EFBIG && !is_pending(SIGXFSZ) ? 0 : 1;
        }) == 0);
}

TEST_CASE("core.descriptor: what was pending before stays pending, and so does errno") {
  CHECK(in_child([] {
          sigset_t mine;
          ::sigemptyset(&mine);
          ::sigaddset(&mine, SIGPIPE);
          ::pthread_sigmask(SIG_BLOCK, &mine, nullptr);
          if (fs::write_all(broken_pipe(), "x", 1).error != EPIPE || is_pending(SIGPIPE)) return 1;
          ::raise(SIGPIPE);
          if (fs::write_all(broken_pipe(), "x", 1).error != EPIPE || !is_pending(SIGPIPE)) return 2;
          errno = 77;
          { const fs::signal_guard quiet; }
          return errno == 77 && is_pending(SIGPIPE) ? 0 : 3;
        }) == 0);
}

TEST_CASE("core.descriptor: a descriptor that does not block is waited for") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  const std::string text(300000, 'x');  // more than a pipe holds
  const pid_t reader = ::fork();
  if (reader == 0) {
    ::close(ends[1]);
    ::fcntl(ends[0], F_SETFL, 0);
    std::size_t got = 0;
    char part[4096];
    for (::ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;) {
      got += static_cast<std::size_t>(n);
    }
    ::_exit(got == 300000 ? 0 : 1);
  }
  ::close(ends[0]);
  const fs::write_result end = fs::write_all(ends[1], text.data(), text.size());
  ::close(ends[1]);
  CHECK(end.done == text.size());
  CHECK(end.error == 0);
  int status = 0;
  REQUIRE(::waitpid(reader, &status, 0) == reader);
  CHECK(status == 0);
}

TEST_CASE("core.descriptor: a new file takes no standard stream's place") {
  CHECK(in_child([] {
          ::close(STDIN_FILENO);
          ::close(STDERR_FILENO);
          const int first = fs::above_standard_streams(::open("/dev/null", O_WRONLY));
          const int second = fs::above_standard_streams(::open("/dev/null", O_WRONLY | O_CLOEXEC));
          if (first < 3 || second < 3 || first == second) return 1;
          if ((::fcntl(second, F_GETFD) & FD_CLOEXEC) == 0) return 2;
          return ::fcntl(STDIN_FILENO, F_GETFD) < 0 && ::fcntl(STDERR_FILENO, F_GETFD) < 0 ? 0 : 3;
        }) == 0);
  CHECK(fs::above_standard_streams(-1) == -1);
}
