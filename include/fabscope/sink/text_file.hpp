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

#include <fabscope/core/descriptor.hpp>
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
  std::size_t tail_bytes = 0;     ///< where a write fails, rows make room for a last row this long
};

/// Rows of text through a buffer to a file. A row is written whole or not at all:
/// rows_total() == rows_written() + rows_lost() + rows_buffered(), always; after close() nothing is
/// buffered. Threads: one.  Errors: the first one stays in status() and error_number(); later rows
/// are only counted as lost, and the file is cut behind its last whole row. A file that is gone
/// when it is closed has lost every row. No signal is raised (core/descriptor.hpp).
/// Cost: one write(2) per buffer, and four system calls around it.
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
    fd = above_standard_streams(fd);
    if (fd < 0) return code_of(errno);
    return adopt(fd, options);
  }

  /// Takes over an open descriptor and closes it in the end.
  [[nodiscard]] FABSCOPE_HIDDEN static result<text_file> adopt(
      int fd, const text_file_options& options = {}) noexcept {
    text_file file;
    file.state_.fd = fd;
    file.state_.has_name = links_of(fd) != 0;
    file.state_.budget = options.budget;
    file.state_.tail = options.tail_bytes;
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

  /// `count` rows of `bytes` bytes each, one behind the other. Returns how many are not lost yet.
  FABSCOPE_HIDDEN std::size_t rows(const void* data, std::size_t count,
                                   std::size_t bytes) noexcept {
    state_.total += count;
    std::size_t kept = 0;
    while (kept < count && usable()) {
      std::size_t part = (state_.capacity - state_.used) / bytes;
      if (part == 0) {
        if (state_.used == 0) break;  // longer than the whole buffer
        flush();
        continue;
      }
      if (part > count - kept) part = count - kept;
      if (state_.budget != nullptr) {
        const std::uint64_t allowed = state_.budget->left / bytes;
        if (allowed < part) part = static_cast<std::size_t>(allowed);
        if (part == 0) {
          state_.capped = true;
          break;
        }
        state_.budget->left -= part * bytes;
      }
      std::memcpy(state_.buffer + state_.used, static_cast<const char*>(data) + kept * bytes,
                  part * bytes);
      mark_row_ends(part, bytes);
      state_.buffered += part;
      kept += part;
    }
    return kept;
  }

  /// A row of closing words, written at once: neither held back by the budget or by an earlier
  /// error, nor taken from the budget. After an error `tail_bytes` long at most.
  template <class Format>
  FABSCOPE_HIDDEN bool last_row(Format&& format) noexcept {
    flush();
    if (state_.status != errc::ok && !state_.cut) return false;
    const bool capped = std::exchange(state_.capped, false);
    byte_budget* budget = std::exchange(state_.budget, nullptr);
    const errc status = std::exchange(state_.status, errc::ok);
    const int error = std::exchange(state_.error, 0);
    const std::uint64_t written = state_.written;
    row(format);
    flush();
    state_.capped = capped;
    state_.budget = budget;
    if (status != errc::ok) {
      state_.status = status;
      state_.error = error;
    }
    return state_.written > written;
  }

  /// Hands the buffered rows to the operating system.
  FABSCOPE_HIDDEN errc flush() noexcept {
    if (state_.used == 0 || state_.status != errc::ok) return state_.status;
    const write_result end = write_all(state_.fd, state_.buffer, state_.used);
    if (end.error != 0) {
      fail(end.error, end.done);
      return state_.status;
    }
    state_.written += state_.buffered;
    state_.bytes += end.done;
    remember_row_ends();
    forget_buffer();
    return errc::ok;
  }

  /// Flushes and closes; the counters and status() stay.
  FABSCOPE_HIDDEN errc close() noexcept {
    if (state_.fd < 0) return state_.status;
    flush();
    state_.removed = state_.has_name && links_of(state_.fd) == 0;
    if (::close(std::exchange(state_.fd, -1)) != 0 && errno != EINTR) {
      note(errno);  // a network file system may report a late error here
    }
    if (state_.removed) {
      note(ENOENT);
      state_.written = 0;
      state_.bytes = 0;
    }
    return state_.status;
  }

  [[nodiscard]] FABSCOPE_HIDDEN bool is_open() const noexcept { return state_.fd >= 0; }
  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return state_.status; }
  /// errno of the first error; 0 if there was none.
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return state_.error; }
  /// True once a row was lost because the budget was used up; all later ones are lost too.
  /// True if somebody removed the file before it was closed.
  [[nodiscard]] FABSCOPE_HIDDEN bool removed() const noexcept { return state_.removed; }
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
  /// A row's end in the file, by what has come behind it.
  struct mark {
    std::size_t bytes = 0;
    std::uint64_t rows = 0;
  };
  struct state {
    int fd = -1;
    int error = 0;
    errc status = errc::ok;
    bool capped = false;
    bool has_name = false;
    bool removed = false;
    bool cut = false;        ///< ends behind a whole row, although a write failed
    char* buffer = nullptr;  ///< capacity bytes, then one bit for each that ends a row
    std::size_t capacity = 0;
    std::size_t used = 0;
    std::uint64_t total = 0;
    std::uint64_t written = 0;
    std::uint64_t buffered = 0;
    std::uint64_t too_long = 0;
    std::uint64_t bytes = 0;
    byte_budget* budget = nullptr;
    std::size_t tail = 0;
    mark near;
    mark far;
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
  /// Directory entries that lead to an open file; 0: it is gone when it is closed.
  FABSCOPE_HIDDEN static std::uint64_t links_of(int fd) noexcept {
    struct stat about {};
    return ::fstat(fd, &about) == 0 ? static_cast<std::uint64_t>(about.st_nlink) : 0;
  }
  FABSCOPE_HIDDEN void note(int error) noexcept {
    if (state_.status != errc::ok) return;
    state_.status = code_of(error);
    state_.error = error;
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
    mark_row_end();
    return true;
  }
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE void mark_row_end() noexcept {
    row_ends()[(state_.used - 1) / 8] |= static_cast<unsigned char>(1U << ((state_.used - 1) % 8));
  }
  FABSCOPE_HIDDEN FABSCOPE_ALWAYS_INLINE void mark_row_ends(std::size_t count,
                                                            std::size_t bytes) noexcept {
    if ((state_.used | bytes) % 8 == 0) {  // each ends with the last bit of a byte
      unsigned char* at = row_ends() + state_.used / 8 + bytes / 8 - 1;
      for (std::size_t i = 0; i < count; ++i) at[i * (bytes / 8)] |= 0x80;
      state_.used += count * bytes;
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      state_.used += bytes;
      mark_row_end();
    }
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool ends_row(std::size_t at) const noexcept {
    return (row_ends()[(at - 1) / 8] >> ((at - 1) % 8) & 1) != 0;
  }
  // The last row's end that is at least `tail` in front of `end`, an end in the buffer as well.
  [[nodiscard]] FABSCOPE_HIDDEN mark tail_before(std::size_t end) const noexcept {
    mark out;
    std::size_t at = end;
    for (; at != 0 && (end - at < state_.tail || !ends_row(at)); --at) {
      if (ends_row(at)) ++out.rows;
    }
    out.bytes = end - at;
    return out;
  }
  // The buffer has been written. `far` is at least `tail` in front of the file's end, `near` less
  // far; both are the file's beginning at first.
  FABSCOPE_HIDDEN void remember_row_ends() noexcept {
    if (state_.used >= state_.tail) {
      state_.far = tail_before(state_.used);
      state_.near = {};
      return;
    }
    for (mark* one : {&state_.near, &state_.far}) {
      one->bytes += state_.used;
      one->rows += state_.buffered;
    }
    if (state_.near.bytes >= state_.tail) state_.far = std::exchange(state_.near, mark{});
  }
  // `done` bytes of the buffer reached the file: keeps the whole rows among them, less those that
  // make room for the tail.
  FABSCOPE_HIDDEN void fail(int error, std::size_t done) noexcept {
    note(error);
    std::size_t whole = done;
    while (whole != 0 && !ends_row(whole)) --whole;
    mark back;
    if (whole >= state_.tail) {
      back = tail_before(whole);
      for (std::size_t at = whole; at != 0; --at) state_.written += ends_row(at) ? 1U : 0U;
    } else {
      back = {state_.far.bytes + whole, state_.far.rows};
    }
    state_.written -= back.rows;
    state_.bytes += whole;
    state_.bytes -= back.bytes;
    state_.near = {};
    state_.far = {};
    forget_buffer();
    const ::off_t end = ::lseek(state_.fd, 0, SEEK_CUR);
    if (end < 0) return;
    const auto cut = end - static_cast<::off_t>(done - whole + back.bytes);
    if (::ftruncate(state_.fd, cut) != 0) return;
    state_.cut = ::lseek(state_.fd, cut, SEEK_SET) == cut;
  }
  FABSCOPE_HIDDEN void forget_buffer() noexcept {
    state_.used = 0;
    state_.buffered = 0;
    std::memset(row_ends(), 0, state_.capacity / 8);
  }

  state state_;
};

FABSCOPE_NAMESPACE_END
