// SPDX-License-Identifier: Apache-2.0
// A file that is opened with its first row and closed with a row that counts the others.
// Layer: sink.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/sink/file_opener.hpp>
#include <fabscope/sink/text_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Counts every row: rows_total() == rows_written() + rows_lost() + (rows still buffered), where
/// the first and the last line of the file count as none. The last line comes also where a write
/// failed: a few rows make room for it.  Threads: one.
class FABSCOPE_VISIBLE row_file {
 public:
  FABSCOPE_HIDDEN row_file(const char* kind, const file_sink_options& options) noexcept
      : kind_(kind), options_(options) {}

  /// Writes one row, after `head(writer)` if it is the first. False if it is lost already.
  template <class Head, class Format>
  FABSCOPE_HIDDEN bool row(Head&& head, Format&& format) noexcept {
    ++total_;
    if (!asked_) open(head);
    return file_.is_open() && file_.row(format);
  }

  /// `count` rows of `bytes` bytes each; after row().
  FABSCOPE_HIDDEN void rows(const void* data, std::size_t count, std::size_t bytes) noexcept {
    total_ += count;
    if (file_.is_open()) file_.rows(data, count, bytes);
  }

  FABSCOPE_HIDDEN void flush() noexcept {
    if (file_.is_open()) file_.flush();
  }

  /// Writes `tail(writer, now)` behind the rows, even if the budget is used up, and closes the
  /// file.
  template <class Tail>
  FABSCOPE_HIDDEN void finish(Tail&& tail) noexcept {
    if (!file_.is_open()) return;
    file_.flush();
    written_ = written();
    closed_ = true;
    if (options_.budget != nullptr) options_.budget->left += reserved_;
    const clock_snapshot end = options_.end != nullptr ? *options_.end : now();
    // Behind an error the closing words need the first ones before them.
    if (file_.status() == errc::ok || file_.rows_written() != 0) {
      file_.last_row([&](text_writer& writer) noexcept { tail(writer, end); });
    }
    file_.close();
    if (file_.removed()) written_ = 0;
  }

  [[nodiscard]] FABSCOPE_HIDDEN const file_sink_options& options() const noexcept {
    return options_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_total() const noexcept { return total_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_written() const noexcept {
    return closed_ ? written_ : written();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t rows_lost() const noexcept {
    const std::uint64_t held = closed_ ? 0 : file_.rows_buffered() - headers_buffered();
    return total_ - rows_written() - held;
  }
  [[nodiscard]] FABSCOPE_HIDDEN bool capped() const noexcept { return file_.capped(); }
  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept {
    return asked_ && !opened_ ? errc::unavailable : file_.status();
  }
  /// errno of the first error; 0: none, or there is no file, and who opens files has said why.
  [[nodiscard]] FABSCOPE_HIDDEN int error_number() const noexcept { return file_.error_number(); }

 private:
  static constexpr std::uint64_t tail_bytes = 512;

  template <class Head>
  FABSCOPE_HIDDEN void open(Head& head) noexcept {
    asked_ = true;
    if (options_.opener.open == nullptr) return;
    const int fd = options_.opener.open(options_.opener.self, kind_);
    if (fd < 0) return;
    if (options_.budget != nullptr) {
      reserved_ = options_.budget->left < tail_bytes ? options_.budget->left : tail_bytes;
      options_.budget->left -= reserved_;
    }
    text_file_options about;
    about.buffer_bytes = options_.buffer_bytes;
    about.budget = options_.budget;
    about.tail_bytes = tail_bytes;
    auto opened = text_file::adopt(fd, about);
    if (!opened) return;
    file_ = std::move(*opened);
    opened_ = true;
    file_.row(head);
  }

  // The head is the file's first row: written or buffered as soon as any row is, unless it was
  // lost, and then every row is.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t written() const noexcept {
    return file_.rows_written() == 0 ? 0 : file_.rows_written() - 1;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t headers_buffered() const noexcept {
    return file_.rows_written() == 0 && file_.rows_buffered() != 0 ? 1 : 0;
  }
  [[nodiscard]] FABSCOPE_HIDDEN static clock_snapshot now() noexcept {
    clock_snapshot out;
    out.monotonic_ns = monotonic_ns();
    out.boottime_ns = boottime_ns();
    out.realtime_ns = realtime_ns();
    return out;
  }

  const char* kind_;
  file_sink_options options_;
  text_file file_;
  std::uint64_t total_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t reserved_ = 0;
  bool asked_ = false;
  bool opened_ = false;
  bool closed_ = false;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
