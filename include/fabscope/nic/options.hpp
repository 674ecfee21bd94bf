// SPDX-License-Identifier: Apache-2.0
// What a sampler does, as a plain struct and from variables. Layer: nic.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <fabscope/nic/files.hpp>
#include <fabscope/session/options.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// What is not set has the value that is written here.
struct sampler_options {
  bool on = true;
  std::uint32_t period_ms = 0;  ///< 1 to 3600000; 0: 1000 to count, 100 to record
  std::string devices;          ///< comma-separated; empty: what the application opens
  std::string counters;         ///< comma-separated; empty: each driver's usual ones
  std::uint64_t max_mb = 256;   ///< of nic.csv, in 10^6 bytes
  std::uint64_t ring_bytes =
      0;  ///< of samples in the segment; 0: 256 KiB to count, 1 MiB to record
  roots where;
};

namespace detail {

template <class Set>
void read_variable(const environment& env, const diagnostics& user, const char* name,
                   const char* old_name, const char* allowed, Set&& set) {
  for (const char* one : {name, old_name}) {
    const char* text = one == nullptr ? nullptr : env.get_filled(one);
    if (text == nullptr) continue;
    if (set(std::string_view(text))) return;
    user.say("fabscope: " + std::string(one) + ": '" + fabscope::detail::printable(text) +
             "' is not allowed; allowed: " + allowed);
  }
}

inline bool is_off(std::string_view text) noexcept {
  text = trim(text);
  return text == "0" || text == "off";
}

}  // namespace detail

/// Puts what the variables say over what `to` holds: FABSCOPE_NIC, _NIC_MS, _NIC_DEVICES,
/// _NIC_COUNTERS, _NIC_MAX_MB, _SYS_ROOT, _RUN_ROOT; where one is not set, the replaced tool's
/// INTERCEPT_TIMER_NIC, _NIC_MS, _NIC_DEV, _NIC_COUNTERS, _NIC_MAX_MB.
/// Errors: a value that is not allowed is left aside with one line.
inline sampler_options sampler_options_from(const environment& env, const diagnostics& user,
                                            sampler_options to = {}) {
  using detail::read_variable;
  read_variable(env, user, "FABSCOPE_NIC", nullptr, "on, off, 1, 0", [&](std::string_view text) {
    const std::string_view bare = trim(text);
    if (!detail::is_off(bare) && bare != "1" && bare != "on") return false;
    to.on = !detail::is_off(bare);
    return true;
  });
  if (env.get_filled("FABSCOPE_NIC") == nullptr) {
    const char* old = env.get_filled("INTERCEPT_TIMER_NIC");
    if (old != nullptr && detail::is_off(old)) to.on = false;
  }
  read_variable(env, user, "FABSCOPE_NIC_MS", "INTERCEPT_TIMER_NIC_MS",
                "an integer from 1 to 3600000", [&](std::string_view text) {
                  const auto value = parse_number(text);
                  if (!value || *value < 1 || *value > 3600000) return false;
                  to.period_ms = static_cast<std::uint32_t>(*value);
                  return true;
                });
  read_variable(env, user, "FABSCOPE_NIC_DEVICES", "INTERCEPT_TIMER_NIC_DEV",
                "a comma-separated list of NICs, or all", [&](std::string_view text) {
                  to.devices = std::string(text);
                  return true;
                });
  read_variable(env, user, "FABSCOPE_NIC_COUNTERS", "INTERCEPT_TIMER_NIC_COUNTERS",
                "a comma-separated list of counters, prefix*, rh:, ethtool:, groups, or all",
                [&](std::string_view text) {
                  to.counters = std::string(text);
                  return true;
                });
  read_variable(env, user, "FABSCOPE_NIC_MAX_MB", "INTERCEPT_TIMER_NIC_MAX_MB",
                "an integer from 1 to 1048576", [&](std::string_view text) {
                  const auto value = parse_number(text);
                  if (!value || *value < 1 || *value > 1048576) return false;
                  to.max_mb = *value;
                  return true;
                });
  const auto root = [&](std::string& where) {
    return [&where](std::string_view text) {
      struct stat about {};
      const std::string path(text);
      if (::stat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return false;
      where = path;
      return true;
    };
  };
  // The session has said what is wrong with this one.
  read_variable(env, diagnostics{}, "FABSCOPE_SYS_ROOT", nullptr, "", root(to.where.sys));
  read_variable(env, user, "FABSCOPE_RUN_ROOT", nullptr, "an existing directory",
                root(to.where.run));
  return to;
}

}  // namespace nic

FABSCOPE_NAMESPACE_END
