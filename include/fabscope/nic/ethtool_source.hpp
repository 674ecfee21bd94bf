// SPDX-License-Identifier: Apache-2.0
// Statistics that a driver of an interface offers through ethtool. Layer: nic.
#pragma once

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/nic/catalogue.hpp>
#include <fabscope/nic/file_source.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// All values of an interface in one system call. The kernel holds its lock of all interfaces
/// meanwhile, which may take long: on the slow thread. A driver that changes how many statistics it
/// has is asked again for their names; those that are gone are missing.
/// Always the interface of the process's network namespace, whatever FABSCOPE_SYS_ROOT says.
/// Threads: one.
class ethtool_source {
 public:
  ethtool_source(const nic_device& device, std::vector<counter_column> wanted)
      : interface_(device.netdev), columns_(std::move(wanted)) {}
  ethtool_source(ethtool_source&& other) noexcept
      : interface_(std::move(other.interface_)),
        columns_(std::move(other.columns_)),
        places_(std::move(other.places_)),
        values_(std::move(other.values_)),
        socket_(std::exchange(other.socket_, -1)) {}
  ethtool_source(const ethtool_source&) = delete;
  ethtool_source& operator=(const ethtool_source&) = delete;
  ethtool_source& operator=(ethtool_source&&) = delete;
  ~ethtool_source() { close(); }

  [[nodiscard]] std::span<const counter_column> columns() const noexcept { return columns_; }

  /// Names of an interface's statistics; empty if there are none.
  static std::vector<std::string> names_of(const std::string& interface) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    std::vector<std::string> out = fd < 0 ? std::vector<std::string>() : names(fd, interface);
    if (fd >= 0) ::close(fd);
    return out;
  }

  bool open() noexcept {
    close();
    socket_ = above_standard_streams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return socket_ >= 0 && find_places();
  }

  bool read(std::uint64_t* values, sample_state* states) noexcept {
    const std::size_t count = columns_.size();
    for (std::size_t i = 0; i < count; ++i) states[i] = sample_state::missing;
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto* head = reinterpret_cast<ethtool_stats*>(values_.data());
      *head = {};
      head->cmd = ETHTOOL_GSTATS;
      head->n_stats = statistics_;
      if (!ask(socket_, interface_, head)) return !detail::means_gone(errno);
      if (head->n_stats == statistics_) break;
      if (attempt != 0 || !find_places()) return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (places_[i] >= statistics_) continue;
      values[i] = values_[1 + places_[i]];
      states[i] = detail::check_value(columns_[i].format, values[i]);
    }
    return true;
  }

  void close() noexcept {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  static bool ask(int fd, const std::string& interface, void* data) noexcept {
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
    request.ifr_data = static_cast<char*>(data);
    return ::ioctl(fd, SIOCETHTOOL, &request) == 0;
  }

  static std::uint32_t number_of(int fd, const std::string& interface) noexcept {
    std::uint64_t memory[3] = {};
    auto* info = reinterpret_cast<ethtool_sset_info*>(memory);
    info->cmd = ETHTOOL_GSSET_INFO;
    info->sset_mask = std::uint64_t{1} << ETH_SS_STATS;
    if (!ask(fd, interface, info) || info->sset_mask == 0) return 0;
    return info->data[0];
  }

  static std::vector<std::string> names(int fd, const std::string& interface) {
    std::vector<std::string> out;
    const std::uint32_t count = number_of(fd, interface);
    if (count == 0 || count > 65536) return out;
    std::vector<std::uint64_t> memory(2 + std::size_t{count} * ETH_GSTRING_LEN / 8);
    auto* texts = reinterpret_cast<ethtool_gstrings*>(memory.data());
    texts->cmd = ETHTOOL_GSTRINGS;
    texts->string_set = ETH_SS_STATS;
    texts->len = count;
    if (!ask(fd, interface, texts) || texts->len > count) return out;
    for (std::uint32_t i = 0; i < texts->len; ++i) {
      const char* text = reinterpret_cast<const char*>(texts->data) + i * ETH_GSTRING_LEN;
      out.emplace_back(text, ::strnlen(text, ETH_GSTRING_LEN));
    }
    return out;
  }

  bool find_places() noexcept {
    const std::vector<std::string> all = names(socket_, interface_);
    statistics_ = static_cast<std::uint32_t>(all.size());
    places_.assign(columns_.size(), ~std::uint32_t{0});
    values_.assign(1 + all.size(), 0);
    constexpr std::size_t prefix = 8;  // "ethtool:"
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      for (std::uint32_t at = 0; at < all.size(); ++at) {
        if (columns_[i].name.compare(prefix, std::string::npos, all[at]) == 0) places_[i] = at;
      }
    }
    return !all.empty();
  }

  std::string interface_;
  std::vector<counter_column> columns_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint64_t> values_;  ///< the head, then the statistics
  std::uint32_t statistics_ = 0;
  int socket_ = -1;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
