// SPDX-License-Identifier: Apache-2.0
// Small files, names in a directory, and the system calls that tests replace. Layer: nic.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Where /sys and /run are: other directories in tests.
struct roots {
  std::string sys = "/sys";
  std::string run = "/run";
};

/// The system calls of a source that reads files.
struct system_files {
  static int open(const char* path, int flags) noexcept {
    return above_standard_streams(::open(path, flags | O_CLOEXEC));
  }
  static ssize_t pread(int fd, void* to, std::size_t size) noexcept {
    return ::pread(fd, to, size, 0);
  }
  static int close(int fd) noexcept { return ::close(fd); }
};

namespace detail {

/// The first line of a small file; empty if it cannot be read.
inline std::string read_line(const std::string& path) {
  const int fd = system_files::open(path.c_str(), O_RDONLY);
  if (fd < 0) return {};
  char text[4096];
  const ssize_t size = system_files::pread(fd, text, sizeof text);
  system_files::close(fd);
  std::string out(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t end = out.find_first_of("\r\n");
  return end == out.npos ? out : out.substr(0, end);
}

/// The whole text of a small file.
inline std::string read_text(const std::string& path) {
  const int fd = system_files::open(path.c_str(), O_RDONLY);
  if (fd < 0) return {};
  char text[4096];
  const ssize_t size = system_files::pread(fd, text, sizeof text);
  system_files::close(fd);
  return std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0);
}

inline bool is_directory(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}
inline bool is_there(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

/// Names in a directory, sorted, without those that begin with a dot.
inline std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> out;
  DIR* const all = ::opendir(path.c_str());
  if (all == nullptr) return out;
  while (const dirent* const one = ::readdir(all)) {
    if (one->d_name[0] != '.') out.emplace_back(one->d_name);
  }
  ::closedir(all);
  std::sort(out.begin(), out.end());
  return out;
}

/// The same, without directories.
inline std::vector<std::string> files_in(const std::string& path) {
  std::vector<std::string> out = names_in(path);
  out.erase(
      std::remove_if(out.begin(), out.end(),
                     [&](const std::string& name) { return is_directory(path + "/" + name); }),
      out.end());
  return out;
}

/// The path without links; empty if there is nothing.
inline std::string real_path(const std::string& path) {
  char text[PATH_MAX];
  return ::realpath(path.c_str(), text) == nullptr ? std::string() : std::string(text);
}

/// A whole number, or `none`.
inline long read_number(const std::string& path, long none) {
  const std::string text = read_line(path);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end == text.c_str() ? none : value;
}

/// A name against a pattern in which * stands for any text.
inline bool matches(const char* pattern, const char* name) noexcept {
  for (; *pattern != '\0'; ++pattern, ++name) {
    if (*pattern == '*') {
      for (;; ++name) {
        if (matches(pattern + 1, name)) return true;
        if (*name == '\0') return false;
      }
    }
    if (*pattern != *name) return false;
  }
  return *name == '\0';
}

}  // namespace detail

}  // namespace nic

FABSCOPE_NAMESPACE_END
