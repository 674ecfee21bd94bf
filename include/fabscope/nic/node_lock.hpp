// SPDX-License-Identifier: Apache-2.0
// One process per NIC and node: who has the lock samples, the others read. Layer: nic.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/nic/devices.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Who samples a NIC.
struct lock_holder {
  long pid = 0;         ///< 0: nobody has said so
  std::string segment;  ///< in which the samples lie; empty: in none that has a name
};

/// A lock in a file in node-local memory. The kernel takes it from a process that ends, however it
/// ends; whoever tries next has it. A child of fork shares it until it closes its descriptor.
/// Threads: one.
class node_lock {
 public:
  node_lock() noexcept = default;
  explicit node_lock(std::string path) : path_(std::move(path)) {}
  node_lock(node_lock&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  node_lock(const node_lock&) = delete;
  node_lock& operator=(const node_lock&) = delete;
  node_lock& operator=(node_lock&&) = delete;
  ~node_lock() { release(); }

  /// The file for one device: per user, job and root, so that jobs and tests stay apart.
  static std::string path_for(const std::string& directory, const std::string& job,
                              const roots& where, const nic_device& device) {
    std::uint64_t hash = 1469598103934665603U;
    for (const char letter : where.sys + "|" + where.run + "|" + job) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
    }
    char key[32];
    std::snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(hash));
    std::string name = device.device_class + "." + device.name;
    if (device.port > 1) name += "." + std::to_string(device.port);
    for (char& letter : name) {
      if (letter == '/') letter = '_';
    }
    return directory + "/fabscope.nic.u" + std::to_string(::getuid()) + "." + key + "." + name +
           ".lock";
  }

  [[nodiscard]] bool is_held() const noexcept { return fd_ >= 0; }

  /// True if this process has it now. Where no file can be made there is nothing to share: true.
  /// Cost: two system calls where another process has it.
  bool try_take(const lock_holder& mine) noexcept {
    if (fd_ >= 0 || alone_) return true;
    for (int attempt = 0; attempt < 4; ++attempt) {
      const int fd = above_standard_streams(
          ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (fd < 0) {
        alone_ = true;
        return true;
      }
      if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const bool taken = errno == EWOULDBLOCK;
        ::close(fd);
        alone_ = !taken;
        return !taken;
      }
      // Its last holder may have removed the file between the two calls.
      struct stat held {};
      struct stat named {};
      if (::fstat(fd, &held) != 0 || ::stat(path_.c_str(), &named) != 0 ||
          held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
        ::close(fd);
        continue;
      }
      const std::string text = std::to_string(mine.pid) + " " + mine.segment + "\n";
      if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) {
        // Who samples is not known then; that it is this process holds all the same.
      }
      fd_ = fd;
      return true;
    }
    return false;
  }

  /// Gives it to whoever comes next.
  void release() noexcept {
    if (fd_ < 0) return;
    ::unlink(path_.c_str());
    ::close(std::exchange(fd_, -1));
  }
  /// In the child of a fork: the lock stays the parent's.
  void forget() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  /// Who has it, as the file says.
  static lock_holder read_holder(const std::string& path) {
    lock_holder out;
    const std::string text = detail::read_line(path);
    char* end = nullptr;
    out.pid = std::strtol(text.c_str(), &end, 10);
    if (*end == ' ') out.segment = end + 1;
    return out;
  }
  [[nodiscard]] lock_holder holder() const { return read_holder(path_); }

 private:
  std::string path_;
  int fd_ = -1;
  bool alone_ = false;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
