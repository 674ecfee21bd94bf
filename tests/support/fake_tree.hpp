// SPDX-License-Identifier: Apache-2.0
// Stand-ins for /sys and /run: files that are rewritten in place at a fixed width, as sysfs never
// gives a short or empty read.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fabscope/nic/files.hpp>

namespace fake {

/// A directory of its own that goes with the object.
class tree {
 public:
  tree() {
    char name[] = "/dev/shm/fabscope-tree.XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    base_ = name;
    std::filesystem::create_directories(base_ + "/sys/class");
    std::filesystem::create_directories(base_ + "/run");
  }
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;
  ~tree() {
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
  }

  [[nodiscard]] const std::string& base() const { return base_; }
  [[nodiscard]] fabscope::nic::roots roots() const { return {base_ + "/sys", base_ + "/run"}; }

  /// Makes or rewrites a file below the base; never shorter than before.
  void write(const std::string& path, const std::string& text) const {
    const std::string whole = base_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    const int fd = ::open(whole.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      std::abort();
    ::close(fd);
  }
  void link(const std::string& path, const std::string& to) const {
    const std::string whole = base_ + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    std::filesystem::create_symlink(to, whole);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(base_ + "/" + path); }

  /// Twenty digits, as a counter of cxi: "00000000000000000123@1700000000.000000000\n" would not be
  /// what the driver prints, so blanks fill the line behind the number.
  static std::string fixed(std::uint64_t value) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    std::string out(text);
    out.resize(20, ' ');
    return out + "\n";
  }
  void counter(const std::string& path, std::uint64_t value) const { write(path, fixed(value)); }

  // Devices, each on a PCI function of its own below a bridge.
  std::string pci(const std::string& address, const std::string& driver, int numa = 0) const {
    const std::string dir = "sys/devices/pci0000:40/0000:40:01.0/" + address;
    write(dir + "/uevent",
          "DRIVER=" + driver + "\nPCI_CLASS=20000\nPCI_SLOT_NAME=" + address + "\n");
    write(dir + "/numa_node", std::to_string(numa) + "\n");
    write(dir + "/vendor", "0x17db\n");
    return dir;
  }
  /// Directory of the telemetry of a new cxi device.
  std::string cxi(int number, const std::string& address, int numa = 0) const {
    const std::string dir = pci(address, "cxi_ss1", numa);
    const std::string name = "cxi" + std::to_string(number);
    link("sys/class/cxi/" + name + "/device", "../../../../" + dir);
    write(dir + "/properties/nid", "0x1a\n");
    write(dir + "/properties/speed", "200000\n");
    write(dir + "/telemetry/ALL-in-binary", std::string("\1\2\3\0", 4));
    return dir + "/telemetry";
  }
  /// Directory of the one port of a new InfiniBand device.
  std::string infiniband(const std::string& name, const std::string& address,
                         const std::string& driver, int numa = 0) const {
    const std::string dir = pci(address, driver, numa);
    link("sys/class/infiniband/" + name + "/device", "../../../../" + dir);
    const std::string port = "sys/class/infiniband/" + name + "/ports/1";
    write(port + "/rate", "400 Gb/sec (4X NDR)\n");
    write(port + "/state", "4: ACTIVE\n");
    return port;
  }
  std::string interface(const std::string& name) const {
    const std::string dir = "sys/class/net/" + name;
    for (const char* one : {"tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "rx_dropped"})
      counter(dir + "/statistics/" + one, 0);
    return dir + "/statistics";
  }

 private:
  std::string base_;
};

}  // namespace fake
