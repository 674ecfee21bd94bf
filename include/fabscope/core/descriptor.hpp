// SPDX-License-Identifier: Apache-2.0
// Writes to descriptors without side effects on the program around. Layer: core.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// While it lives, no write of the calling thread raises SIGPIPE (a pipe without reader) or SIGXFSZ
/// (the limit on the size of files): it only fails. What the program does with these signals stays
/// as it is, and one that was pending before stays pending.
/// Threads: lives and dies on one.  Cost: four system calls.
class FABSCOPE_VISIBLE signal_guard {
 public:
  FABSCOPE_HIDDEN signal_guard() noexcept {
    ::sigemptyset(&raised_);
    ::sigaddset(&raised_, SIGPIPE);
    ::sigaddset(&raised_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &raised_, &mask_);
    sigset_t pending;
    ::sigpending(&pending);
    if (::sigismember(&pending, SIGPIPE) == 1) ::sigdelset(&raised_, SIGPIPE);
    if (::sigismember(&pending, SIGXFSZ) == 1) ::sigdelset(&raised_, SIGXFSZ);
  }
  FABSCOPE_HIDDEN ~signal_guard() {
    const int error = errno;
    // Both are sent to the thread that writes, so they are here by now.
    const timespec at_once{};
    while (::sigtimedwait(&raised_, nullptr, &at_once) > 0 || errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = error;
  }
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;

 private:
  sigset_t raised_;
  sigset_t mask_;
};

/// How far a write came, and why no further.
struct FABSCOPE_VISIBLE write_result {
  std::size_t done = 0;
  int error = 0;  ///< errno; 0: everything is written
};

/// Writes all of it if it can. A descriptor that does not block is waited for, at most a second
/// without progress.  Errors: never a signal; see write_result.
inline write_result write_all(int fd, const void* data, std::size_t size) noexcept {
  constexpr int patience_ms = 1000;
  const signal_guard quiet;
  write_result out;
  while (out.done < size) {
    const ::ssize_t n = ::write(fd, static_cast<const char*>(data) + out.done, size - out.done);
    if (n > 0) {
      out.done += static_cast<std::size_t>(n);
      continue;
    }
    out.error = n == 0 ? EIO : errno;
    if (out.error == EINTR) continue;
    pollfd room{fd, POLLOUT, 0};
    if (out.error != EAGAIN || ::poll(&room, 1, patience_ms) <= 0) return out;
  }
  out.error = 0;
  return out;
}

/// The same open file under a number above 2. In a program that has closed its standard streams a
/// new file would take the place of one of them, and get what others write there. -1 stays -1.
inline int above_standard_streams(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int higher = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return higher;
}

FABSCOPE_NAMESPACE_END
