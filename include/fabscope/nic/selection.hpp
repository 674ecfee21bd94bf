// SPDX-License-Identifier: Apache-2.0
// Which NICs and which of their counters are sampled. Layer: nic.
#pragma once

#include <strings.h>

#include <string>
#include <string_view>
#include <vector>

#include <fabscope/nic/catalogue.hpp>
#include <fabscope/nic/ethtool_source.hpp>
#include <fabscope/session/env.hpp>
#include <fabscope/session/options.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Cuts at commas that are not inside "..."; a name with a comma is written in quotes.
inline std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  std::string one;
  bool quoted = false;
  const auto take = [&] {
    const std::string_view bare = trim(one);
    if (!bare.empty()) out.emplace_back(bare);
    one.clear();
  };
  for (const char letter : text) {
    if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      take();
    } else {
      one += letter;
    }
  }
  take();
  return out;
}

/// A device as the application or the session knows it.
struct device_hint {
  std::string name;  ///< "cxi0", "mlx5_0", "eth0"; empty: unknown
  std::string pci;   ///< empty: unknown
};

namespace detail {

inline bool names_device(const std::string& token, const nic_device& device) {
  std::string_view text = token;
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    if (text.substr(0, colon) == device.device_class) {
      text.remove_prefix(colon + 1);  // "net:eth0"
    } else if (!device.pci.empty() && text == device.pci) {
      return true;
    } else {  // "mlx5_0:1"
      return matches(std::string(text.substr(0, colon)).c_str(), device.name.c_str()) &&
             text.substr(colon + 1) == std::to_string(device.port);
    }
  }
  const std::string bare(text);
  return matches(bare.c_str(), device.name.c_str()) || bare == device.title();
}

/// Path components that two devices' places on the bus have in common.
inline std::size_t common_parts(const std::string& a, const std::string& b) {
  std::size_t parts = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) {
    if (a[i] == '/') ++parts;
  }
  return parts;
}

/// Interfaces that are not hardware, or that belong to another device that is there itself.
inline bool is_usable(const nic_device& one, const std::vector<nic_device>& all) {
  if (one.device_class != "net") return true;
  if (one.pci.empty()) return false;
  for (const nic_device& other : all) {
    if (other.device_class != "net" && other.pci == one.pci) return false;
  }
  return true;
}

}  // namespace detail

/// What is known about where to look. Each part may be empty.
struct device_wishes {
  std::vector<std::string> named;    ///< by the user: names with *, class:name, PCI addresses
  std::vector<device_hint> opened;   ///< by the application
  std::vector<std::string> nearest;  ///< PCI addresses of this rank's GPUs
  int numa = -1;                     ///< of the processors that the rank runs on
};

/// The devices to sample: those that are named; else those that the application opened; else those
/// nearest to the rank's GPU or processors; else all NICs; else, on a machine without any, all
/// interfaces. A name that fits no device gives one line, and if none fits, it is as if nothing had
/// been named: all NICs.
inline std::vector<nic_device> select_devices(const std::vector<nic_device>& all,
                                              const device_wishes& wishes,
                                              const diagnostics& user) {
  std::vector<nic_device> out;
  const auto add = [&](const nic_device& one) {
    for (const nic_device& known : out) {
      if (known.dir == one.dir && known.port == one.port) return;
    }
    out.push_back(one);
  };
  const auto all_nics = [&] {
    for (const nic_device& one : all) {
      if (detail::is_usable(one, all)) add(one);
    }
    if (!out.empty()) return;
    for (const nic_device& one : all) add(one);
  };
  for (const std::string& token : wishes.named) {
    if (token == "all") {
      all_nics();
      continue;
    }
    bool found = false;
    for (const nic_device& one : all) {
      if (!detail::names_device(token, one)) continue;
      add(one);
      found = true;
    }
    if (!found) {
      user.say("fabscope: FABSCOPE_NIC_DEVICES: there is no NIC '" +
               fabscope::detail::printable(token) + "' on this machine");
    }
  }
  if (!out.empty()) return out;
  if (!wishes.named.empty()) {
    all_nics();
    return out;
  }
  for (const device_hint& hint : wishes.opened) {
    for (const nic_device& one : all) {
      const bool by_name =
          !hint.name.empty() && (hint.name == one.name || hint.name == one.title());
      const bool by_bus = !hint.pci.empty() && hint.pci == one.pci;
      // An interface below a NIC that is there itself counts only the kernel's own traffic.
      if (by_name || (by_bus && detail::is_usable(one, all))) add(one);
    }
  }
  if (!out.empty()) return out;
  std::size_t best = 0;
  for (const std::string& gpu : wishes.nearest) {
    for (const nic_device& one : all) {
      if (!detail::is_usable(one, all)) continue;
      const std::string mine = detail::real_path(one.dir + "/device");
      const std::size_t near = detail::common_parts(mine, gpu);
      if (near < best || near < 4) continue;  // at least the same bridge below the root
      if (near > best) out.clear();
      best = near;
      add(one);
    }
  }
  if (!out.empty()) return out;
  for (const nic_device& one : all) {
    if (wishes.numa >= 0 && one.numa == wishes.numa && detail::is_usable(one, all)) add(one);
  }
  if (out.empty()) all_nics();
  return out;
}

/// Counters that were asked for, in the order of the titles.
class counter_selection {
 public:
  /// `text` is FABSCOPE_NIC_COUNTERS: a comma-separated list of names, prefix*, rh:name, rh:,
  /// ethtool:name, ethtool:, names of groups, all. Empty: each driver's usual ones.
  explicit counter_selection(std::string_view text = {}) {
    for (const std::string& token : split_list(text)) {
      if (token == "all") {
        patterns_.insert(patterns_.end(), {"*", "rh:*"});
      } else if (token == "rh:" || token == "ethtool:") {
        patterns_.push_back(token + "*");
      } else if (!add_group(token)) {
        patterns_.push_back(token);
      }
    }
    found_.assign(patterns_.size(), false);
  }

  [[nodiscard]] bool is_usual() const noexcept { return patterns_.empty(); }

  /// Takes from `names` (of one source of the device) those that are wanted.
  std::vector<std::string> pick(const nic_device& device, const std::string& prefix,
                                const std::vector<std::string>& names) {
    const std::vector<std::string> mine = is_usual() ? usual_patterns(device) : patterns_;
    std::vector<std::string> out;
    std::vector<bool> taken(names.size(), false);
    for (std::size_t p = 0; p < mine.size(); ++p) {
      // A bare pattern is for counters without a prefix, one with a prefix for those with it.
      std::string_view pattern = mine[p];
      if (prefix.empty() != !has_prefix(pattern)) continue;
      if (!prefix.empty()) {
        if (pattern.substr(0, prefix.size()) != prefix) continue;
        pattern.remove_prefix(prefix.size());
      }
      const std::string bare(pattern);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!detail::matches(bare.c_str(), names[i].c_str())) continue;
        if (!is_usual()) found_[p] = true;
        if (taken[i]) continue;
        taken[i] = true;
        out.push_back(names[i]);
      }
    }
    return out;
  }

  /// One line for each name that fitted no counter of any device.
  void complain(const diagnostics& user) const {
    for (std::size_t p = 0; p < patterns_.size(); ++p) {
      if (found_[p] || patterns_[p].find('*') != std::string::npos) continue;
      user.say("fabscope: FABSCOPE_NIC_COUNTERS: no NIC that is sampled has a counter '" +
               fabscope::detail::printable(patterns_[p]) + "'");
    }
  }

 private:
  static bool has_prefix(std::string_view pattern) noexcept {
    return pattern.substr(0, 3) == "rh:" || pattern.substr(0, 8) == "ethtool:";
  }
  bool add_group(const std::string& token) {
    for (const detail::group& one : detail::groups) {
      if (::strcasecmp(one.name, token.c_str()) != 0) continue;
      for (const std::string& member : split_words(one.members)) patterns_.push_back(member);
      return true;
    }
    return false;
  }
  static std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
      const std::size_t end = text.find(' ');
      out.emplace_back(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return out;
  }

  std::vector<std::string> patterns_;
  std::vector<bool> found_;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
