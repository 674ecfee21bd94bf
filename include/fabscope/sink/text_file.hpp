// SPDX-License-Identifier: Apache-2.0
// A file of whole rows that counts every row it could not keep. Layer: sink.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include <fabscope/core/result.hpp>
#include <fabscope/core/version.hpp>
#include <fabscope/sink/text_writer.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Bytes that several files may still write together.
struct FABSCOPE_VISIBLE byte_budget {
  std::uint64_t left = ~std::uint64_t{0};
};

struct FABSCOPE_VISIBLE text_file_options {
  std::size_t buffer_bytes = 64 * 1024;  ///< also the longest row; 4 KiB to 1 MiB
  unsigned mode = 0640;                  ///< permissions of a new file, less the umask
  bool may_exist =
      false;  ///< false: O_EXCL, an existing file is never touched; true: it is emptied
  byte_budget* budget = nullptr;  ///< shared cap; null: none. Must outlive the file
};

/// Rows of text through a buffer to a file. A row is written whole or not at all:
/// rows_total() == rows_written() + rows_lost() + rows_buffered(), always; after close() nothing is
/// buffered. Threads: one.  Errors: the first one stays in status() and error_number(); later rows
/// are only counted as lost, and the file is cut behind its last whole row. Cost: one write(2) per
/// buffer. Meant for regular files: a pipe whose reader went away would raise SIGPIPE.
class FABSCOPE_VISIBLE text_file {
 public:
  FABSCOPE_HIDDEN text_file() noexcept = default;
  FABSCOPE_HIDDEN text_file(text_file&& other) noexcept { *this = std::move(other); }
  FABSCOPE_HIDDEN text_file& operator=(text_file&& other) noexcept {
    if (this == &other) return *this;
    close();
    ::operator delete(state_.buffer);
    state_ = std::exchange(other.state_, state{});
    return *this;
  }
  FABSCOPE_HIDDEN ~text_file() {
    close();
    ::operator delete(state_.buffer);
  }

  /// Creates the file. Afterwards errno has the system's reason if the result is not ok.
  [[nodiscard]] FABSCOPE_HIDDEN static result<text_file> open(
      const char* path, const text_file_options& options = {}) noexcept {
    const int flags =
        O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (options.may_exist ? O_TRUNC : O_EXCL);
    int fd;
    do {
      fd = ::open(path, flags, static_cast<mode_t>(options.mode));
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return code_of(errno);
    return adopt(fd, options);
  }

  /// Takes over an open descriptor and closes it in the end.
  [[nodiscard]] FABSCOPE_HIDDEN static result<text_file> adopt(
      int fd, const text_file_options& options = {}) noexcept {
    text_file file;
    file.state_.fd = fd;
    file.state_.budget = options.budget;
    std::size_t bytes = options.buffer_bytes;
    if (bytes < 4096) bytes = 4096;
    if (bytes > 1024 * 1024) bytes = 1024 * 1024;
    file.state_.capacity = bytes / 64 * 64;
    const std::size_t bits = file.state_.capacity / 8;
    file.state_.buffer =
        static_cast<char*>(::operator new(file.state_.capacity + bits, std::nothrow));
    if (file.state_.buffer == nullptr) return errc::no_space;
    file.forget_buffer();
    return result<text_file>(std::move(file));
  }

  /// Writes one row with its end of line: `format(text_writer&)` appends it. It may be called twice
  /// for one row, so it must give the same text each time. False if the row is lost already.
  template <std::invocable<text_writer&> Format>
  FABSCOPE_HIDDEN bool row(Format&& format) noexcept {
    ++state_.total;
    if (!usable()) return false;
    for (int attempt = 0; attempt < 2; ++attempt) {
      text_writer writer(
          std::span<char>(state_.buffer + state_.used, state_.capacity - state_.used));
      format(writer);
      if (!writer.full()) return accept(writer.size());
      if (state_.used == 0) break;  // longer than the whole buffer
      flush();
      if (!usable()) return false;
    }
    ++state_.too_long;
    return false;
  }
  FABSCOPE_HIDDEN bool row(std::string_view text) noexcept {
    return row([text](text_writer& writer) noexcept { writer.text(text); });
  }

  /// A row of closing words: like row(), but neither held back by the budget nor taken from it.
  template <class Format>
  FABSCOPE_HIDDEN bool last_row(Format&& format) noexcept {
    const bool capped = std::exchange(state_.capped, false);
    byte_budget* budget = std::exchange(state_.budget, nullptr);
    const bool kept = row(format);
    state_.capped = capped;
    state_.budget = budget;
    return kept;
  }

  /// Hands the buffered rows to the operating system.
  FABSCOPE_HIDDEN errc flush() noexcept {
    if (state_.used == 0 || state_.status != errc::ok) return state_.status;
    std::size_t done = 0;
    while (done < state_.used) {
      const ::ssize_t n = ::write(state_.fd, state_.buffer + done, state_.used - done);
      if (n >= 0) {
        done += static_cast<std::size_t>(n);
      } else if (errno != EINTR) {
        fail(errno, done);
        return state_.status;
      }
    }
    state_.written += state_.buffered;
    state_.bytes += done;
    forget_buffer();
    return errc::ok;
  }

  /// Flushes and closes; the counters and status() stay.
  FABSCOPE_HIDDEN errc close() noexcept {
    if (state_.fd < 0) return state_.status;
    flush();
    if (::close(std::exchange(state_.fd, -1)) != 0 && errno != EINTR && state_.status == errc::ok) {
      state_.status = code_of(errno);  // a network file system may report a late error here
      state_.error = errno;
    }
    return state_.status;
  }

  [[nodiscard]] FABSCOPE_HIDDEN bool is_open() const noexcept { return state_.fd >= 0; }
  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return state_.status; }
  /// errno of the first error; 0 if there was none.
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return state_.error; }
  /// True once a row was lost because the budget was used up; all later ones are lost too.
  [[nodiscard]] FABSCOPE_HIDDEN bool capped() const noexcept { return state_.capped; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_total() const noexcept { return state_.total; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_written() const noexcept {
    return state_.written;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_buffered() const noexcept {
    return state_.buffered;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_lost() const noexcept {
    return state_.total - state_.written - state_.buffered;
  }
  /// Of these, rows longer than the buffer.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_too_long() const noexcept {
    return state_.too_long;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t bytes_written() const noexcept {
    return state_.bytes;
  }

 private:
  struct state {
    int fd = -1;
    int error = 0;
    errc status = errc::ok;
    bool capped = false;
    char* buffer = nullptr;  ///< capacity bytes, then one bit for each that ends a row
    std::size_t capacity = 0;
    std::size_t used = 0;
    std::uint64_t total = 0;
    std::uint64_t written = 0;
    std::uint64_t buffered = 0;
    std::uint64_t too_long = 0;
    std::uint64_t bytes = 0;
    byte_budget* budget = nullptr;
  };

  FABSCOPE_HIDDEN static errc code_of(int error) noexcept {
    switch (error) {
      case EACCES:
      case EPERM:
      case EROFS: return errc::no_permission;
      case ENOSPC:
      case EDQUOT:
      case EFBIG: return errc::no_space;
      case ENOENT:
      case ENOTDIR: return errc::unavailable;
      case EEXIST:
      case EISDIR:
      case ELOOP: return errc::invalid_argument;
      default: return errc::io;
    }
  }
  [[nodiscard]] FABSCOPE_HIDDEN unsigned char* row_ends() const noexcept {
    return reinterpret_cast<unsigned char*>(state_.buffer + state_.capacity);
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool usable() const noexcept {
    return state_.fd >= 0 && state_.status == errc::ok && !state_.capped;
  }
  FABSCOPE_HIDDEN bool accept(std::size_t bytes) noexcept {
    if (state_.budget != nullptr) {
      if (state_.budget->left < bytes) {
        state_.capped = true;
        return false;
      }
      state_.budget->left -= bytes;
    }
    state_.used += bytes;
    ++state_.buffered;
    if (bytes == 0) {  // an empty row ends nowhere of its own: it is done
      --state_.buffered;
      ++state_.written;
      return true;
    }
    row_ends()[(state_.used - 1) / 8] |= static_cast<unsigned char>(1U << ((state_.used - 1) % 8));
    return true;
  }
  // `done` bytes of the buffer reached the file: keeps the whole rows among them.
  FABSCOPE_HIDDEN void fail(int error, std::size_t done) noexcept {
    state_.error = error;
    state_.status = code_of(error);
    std::size_t whole = 0;
    for (std::size_t i = 0; i < done; ++i) {
      if ((row_ends()[i / 8] >> (i % 8) & 1) == 0) continue;
      ++state_.written;
      whole = i + 1;
    }
    state_.bytes += whole;
    if (whole < done) {
      const ::off_t end = ::lseek(state_.fd, 0, SEEK_CUR);
      if (end >= 0) {
        const auto cut = end - static_cast<::off_t>(done - whole);
        if (::ftruncate(state_.fd, cut) == 0) (void)::lseek(state_.fd, cut, SEEK_SET);
      }
    }
    forget_buffer();
  }
  FABSCOPE_HIDDEN void forget_buffer() noexcept {
    state_.used = 0;
    state_.buffered = 0;
    std::memset(row_ends(), 0, state_.capacity / 8);
  }

  state state_;
};

FABSCOPE_NAMESPACE_END
