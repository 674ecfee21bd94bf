// SPDX-License-Identifier: Apache-2.0
// Counters in files, one number each, read through descriptors that stay open. Layer: nic.
#pragma once

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/nic/concepts.hpp>
#include <fabscope/nic/files.hpp>
#include <fabscope/nic/parse.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

namespace detail {

/// Errors with which a device says that it is not there.
inline bool means_gone(int error) noexcept {
  return error == ENODEV || error == ENXIO || error == ENOENT || error == ENOTCONN ||
         error == ESTALE || error == EBADF;
}

/// The state of a value that was read, by what is known of its counter.
FABSCOPE_ALWAYS_INLINE sample_state check_value(const counter_format& format,
                                                std::uint64_t value) noexcept {
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - format.bits);
  return value > most || (value == most && format.ones_are_error) ? sample_state::invalid
                                                                  : sample_state::good;
}

}  // namespace detail

/// Files below /sys: telemetry of cxi, counters and hw_counters of InfiniBand, statistics of
/// interfaces. `Files` has the system calls.  Threads: one.
/// Cost of read(): one pread per counter and about 10 ns. Allocates only in open().
template <class Files = system_files>
class file_source {
 public:
  /// `reopens`: opened for each read, for FUSE file systems, which answer from the page cache for
  /// up to a second as long as a file stays open.
  explicit file_source(std::vector<counter_column> wanted, bool reopens = false)
      : columns_(std::move(wanted)), reopens_(reopens) {}
  file_source(file_source&& other) noexcept
      : columns_(std::move(other.columns_)),
        descriptors_(std::move(other.descriptors_)),
        reopens_(other.reopens_),
        probed_(other.probed_) {
    other.descriptors_.clear();
  }
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  file_source& operator=(file_source&&) = delete;
  ~file_source() { close(); }

  [[nodiscard]] std::span<const counter_column> columns() const noexcept { return columns_; }
  /// Counters that could not be read when the source was opened first, which have no column.
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

  /// The first time, a counter that cannot be read as a number is left out. A file that cannot be
  /// opened because the process has too many stays a column, and is tried again. False if nothing
  /// is there.
  bool open() noexcept {
    close();
    if (!probed_) probe();
    bool any = columns_.empty();
    descriptors_.assign(columns_.size(), -1);
    if (reopens_) return any || is_there(columns_.front());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      descriptors_[i] = Files::open(columns_[i].path.c_str(), O_RDONLY);
      if (descriptors_[i] >= 0) any = true;
      if (descriptors_[i] < 0 && (errno == EMFILE || errno == ENFILE)) {
        any = true;
        break;  // those behind it find no descriptor either
      }
    }
    return any;
  }

  /// False if every counter says that the device is gone.
  bool read(std::uint64_t* values, sample_state* states) noexcept {
    std::size_t gone = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      int fd = i < descriptors_.size() ? descriptors_[i] : -1;
      if (reopens_) fd = Files::open(columns_[i].path.c_str(), O_RDONLY);
      if (fd < 0) {
        states[i] = sample_state::missing;
        const bool full = errno == EMFILE || errno == ENFILE;
        gone += reopens_ && full ? 0U : 1U;
        continue;
      }
      char text[64];
      ssize_t size = Files::pread(fd, text, sizeof text - 1);
      if (size < 0 && errno == EINTR) size = Files::pread(fd, text, sizeof text - 1);
      const int error = size < 0 ? errno : 0;
      if (reopens_) Files::close(fd);
      if (size <= 0) {
        states[i] = sample_state::missing;
        gone += detail::means_gone(error) ? 1U : 0U;
        continue;
      }
      states[i] = parse_counter(text, static_cast<std::size_t>(size), values[i]);
      if (states[i] == sample_state::good) {
        states[i] = detail::check_value(columns_[i].format, values[i]);
      }
    }
    return gone < columns_.size() || columns_.empty();
  }

  /// Descriptors that are missing because the process had too many: tried again.
  /// Threads: the reader's, now and then.
  void complete() noexcept {
    for (std::size_t i = 0; i < descriptors_.size() && !reopens_; ++i) {
      if (descriptors_[i] >= 0) continue;
      descriptors_[i] = Files::open(columns_[i].path.c_str(), O_RDONLY);
      if (descriptors_[i] < 0) return;
    }
  }
  /// True if a file was removed, which reads from it do not always tell.
  [[nodiscard]] bool removed() const noexcept {
    if (reopens_ || descriptors_.empty() || descriptors_[0] < 0) return false;
    struct stat about {};
    return ::fstat(descriptors_[0], &about) == 0 && about.st_nlink == 0;
  }

  void close() noexcept {
    for (int& fd : descriptors_) {
      if (fd >= 0) Files::close(fd);
      fd = -1;
    }
  }

 private:
  void probe() noexcept {
    std::vector<counter_column> kept;
    for (counter_column& one : columns_) {
      const int fd = Files::open(one.path.c_str(), O_RDONLY);
      bool good = fd < 0 && (errno == EMFILE || errno == ENFILE);
      if (fd >= 0) {
        char text[64];
        std::uint64_t value = 0;
        const ssize_t size = Files::pread(fd, text, sizeof text - 1);
        good = size > 0 &&
               parse_counter(text, static_cast<std::size_t>(size), value) == sample_state::good;
        Files::close(fd);
      }
      if (good) {
        kept.push_back(std::move(one));
      } else {
        ++left_out_;
      }
    }
    if (kept.empty()) {  // the device may not be there yet: nothing is known of it
      left_out_ = 0;
    }
    columns_ = std::move(kept);
    probed_ = true;
  }

  static bool is_there(const counter_column& one) noexcept {
    const int fd = Files::open(one.path.c_str(), O_RDONLY);
    if (fd < 0) return errno == EMFILE || errno == ENFILE;
    Files::close(fd);
    return true;
  }

  std::vector<counter_column> columns_;
  std::vector<int> descriptors_;
  bool reopens_;
  bool probed_ = false;
  std::size_t left_out_ = 0;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
