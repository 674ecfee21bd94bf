// SPDX-License-Identifier: Apache-2.0
// Where a process's files go and what they are called. Layer: session.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/session/options.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Opens `<directory>/<prefix>.<host>.r<rank|NA>.p<pid>[.<n>].<kind>`, never an existing file. The
/// directory is made, with its parents, when the first file is opened. Threads: one at a time.
/// Errors: -1, once with one line on stderr that names the path and the reason.
class run_directory {
 public:
  struct file {
    std::string kind;
    std::string path;
  };

  /// `variable`: what sets the directory, for the line that says that it cannot be written.
  void start(std::string directory, const std::string& host, int rank, int pid, mode_t mode,
             const char* prefix = "fabscope", const char* variable = "FABSCOPE_DIR") {
    directory_ = std::move(directory);
    variable_ = variable;
    stem_ = std::string(prefix) + "." + host + ".r" +
            (rank < 0 ? std::string("NA") : std::to_string(rank)) + ".p" + std::to_string(pid);
    mode_ = mode;
  }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] const std::vector<file>& files() const noexcept { return files_; }

  /// Path of the newest file of that kind, or empty.
  [[nodiscard]] std::string path_of(std::string_view kind) const {
    std::string path;
    for (const file& one : files_) {
      if (one.kind == kind) path = one.path;
    }
    return path;
  }

  int open(const char* kind) {
    if (!make(directory_)) return complain(directory_);
    for (int n = 0; n < 10000; ++n) {
      const std::string path =
          directory_ + "/" + stem_ + (n == 0 ? "" : "." + std::to_string(n)) + "." + kind;
      const int fd = above_standard_streams(
          ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_));
      if (fd >= 0) {
        files_.push_back({kind, path});
        return fd;
      }
      if (errno != EEXIST) return complain(path);
    }
    return complain(directory_);
  }

 private:
  static bool make(const std::string& path) {
    for (std::size_t at = 1; at != std::string::npos;) {
      at = path.find('/', at + 1);
      const std::string part = path.substr(0, at);
      if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST && errno != EROFS &&
          errno != EACCES) {
        return false;
      }
    }
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return false;
    if (!S_ISDIR(about.st_mode)) errno = ENOTDIR;
    return S_ISDIR(about.st_mode);
  }

  int complain(const std::string& path) {
    if (!complained_) {
      diagnostics::on_stderr().say("fabscope: cannot write " + path + ": " + std::strerror(errno) +
                                   "; set " + variable_ + " to a directory that can be written");
    }
    complained_ = true;
    return -1;
  }

  std::string directory_;
  std::string stem_;
  const char* variable_ = "FABSCOPE_DIR";
  mode_t mode_ = 0644;
  std::vector<file> files_;
  bool complained_ = false;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
