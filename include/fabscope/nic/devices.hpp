// SPDX-License-Identifier: Apache-2.0
// Finds the NICs of a machine: cxi, InfiniBand and RoCE, network interfaces. Layer: nic.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <fabscope/nic/files.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// A NIC, or one port of it.
struct nic_device {
  std::string device_class;  ///< "cxi", "infiniband", "net"
  std::string name;          ///< "cxi0", "mlx5_0", "eth0"
  unsigned port = 0;         ///< of an InfiniBand device, from 1
  std::string driver;        ///< what the kernel says, never guessed from the name
  std::string pci;           ///< "0000:41:00.0"; empty: it is on no PCI bus
  int numa = -1;
  long speed_mbps = -1;  ///< -1: unknown
  std::string netdev;    ///< interface on the same function, if there is one
  std::string dir;       ///< in the class directory, under the root
  std::string run_dir;   ///< of the retry handler

  /// The device in a column's title.
  [[nodiscard]] std::string title() const {
    return port > 1 ? name + "/" + std::to_string(port) : name;
  }
  /// Software only: its traffic is another one's, or nobody's.
  [[nodiscard]] bool is_loopback() const { return device_class == "net" && name == "lo"; }
};

namespace detail {

/// "0000:41:00.0"
inline bool is_pci_address(const std::string& text) noexcept {
  const std::size_t dot = text.rfind('.');
  if (text.size() < 12 || dot == text.npos || dot + 2 != text.size()) return false;
  const std::size_t colon = text.rfind(':', dot);
  return colon != text.npos && dot - colon == 3 &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos;
}

/// The bus, the NUMA node and the driver of what `dir`/device leads to, or of what that is part of
/// (virtio and auxiliary devices are below their PCI function).
inline void describe_bus(nic_device& to, const std::string& stop) {
  std::string at = real_path(to.dir + "/device");
  const std::string text = read_text(at + "/uevent");
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == text.npos) end = text.size();
    std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.compare(0, 7, "DRIVER=") == 0) to.driver = line.substr(7);
    if (line.compare(0, 14, "PCI_SLOT_NAME=") == 0) to.pci = line.substr(14);
    begin = end + 1;
  }
  const std::string top = real_path(stop);
  while (at.size() > top.size() && at.size() > 1) {
    const std::string name = at.substr(at.rfind('/') + 1);
    if (to.pci.empty() && is_pci_address(name)) to.pci = name;
    if (to.numa < 0) to.numa = static_cast<int>(read_number(at + "/numa_node", -1));
    if (!to.pci.empty()) break;
    at.erase(at.rfind('/'));
  }
}

/// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)"
inline long rate_mbps(const std::string& text) {
  char* end = nullptr;
  const double gigabits = std::strtod(text.c_str(), &end);
  return end == text.c_str() || gigabits <= 0 ? -1 : static_cast<long>(gigabits * 1000);
}

inline bool all_digits(const std::string& text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace detail

/// All NICs, cxi first, then InfiniBand, then interfaces; each class in the order of names. What
/// cannot be read is unknown. Reads `speed` once per device, which on a device that is being
/// configured may take a while: never in the sampling loop.
inline std::vector<nic_device> find_devices(const roots& where = {}) {
  std::vector<nic_device> out;
  const std::string classes = where.sys + "/class/";
  for (const std::string& name : detail::names_in(classes + "cxi")) {
    if (name.compare(0, 3, "cxi") != 0 || !detail::all_digits(name.substr(3))) continue;
    nic_device one;
    one.device_class = "cxi";
    one.name = name;
    one.dir = classes + "cxi/" + name;
    one.run_dir = where.run + "/cxi/" + name;
    detail::describe_bus(one, where.sys);
    one.speed_mbps = detail::read_number(one.dir + "/device/properties/speed", -1);
    if (one.speed_mbps == 0) one.speed_mbps = -1;
    out.push_back(one);
  }
  for (const std::string& name : detail::names_in(classes + "infiniband")) {
    nic_device one;
    one.device_class = "infiniband";
    one.name = name;
    one.dir = classes + "infiniband/" + name;
    detail::describe_bus(one, where.sys);
    const auto netdevs = detail::names_in(one.dir + "/device/net");
    if (!netdevs.empty()) one.netdev = netdevs.front();
    for (const std::string& port : detail::names_in(one.dir + "/ports")) {
      if (!detail::all_digits(port)) continue;
      one.port = static_cast<unsigned>(std::strtoul(port.c_str(), nullptr, 10));
      one.speed_mbps = detail::rate_mbps(detail::read_line(one.dir + "/ports/" + port + "/rate"));
      out.push_back(one);
    }
  }
  for (const std::string& name : detail::names_in(classes + "net")) {
    if (!detail::is_directory(classes + "net/" + name + "/statistics")) continue;
    nic_device one;
    one.device_class = "net";
    one.name = name;
    one.netdev = name;
    one.dir = classes + "net/" + name;
    detail::describe_bus(one, where.sys);
    one.speed_mbps = detail::read_number(one.dir + "/speed", -1);
    out.push_back(one);
  }
  return out;
}

}  // namespace nic

FABSCOPE_NAMESPACE_END
