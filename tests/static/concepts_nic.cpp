// SPDX-License-Identifier: Apache-2.0
// What the concepts of the folder nic accept and what they refuse.
#include <fabscope/nic/ethtool_source.hpp>
#include <fabscope/nic/file_source.hpp>

using namespace fabscope;

struct least_source {
  std::span<const nic::counter_column> columns() const noexcept { return {}; }
  bool open() noexcept { return true; }
  bool read(std::uint64_t*, sample_state*) noexcept { return true; }
  void close() noexcept {}
};
static_assert(nic::counter_source<least_source>);
static_assert(nic::counter_source<nic::file_source<>>);
static_assert(nic::counter_source<nic::ethtool_source>);

struct throwing_read : least_source {
  bool read(std::uint64_t*, sample_state*) { return true; }
};
struct silent_read : least_source {
  void read(std::uint64_t*, sample_state*) noexcept {}
};
struct without_columns {
  bool open() noexcept { return true; }
  bool read(std::uint64_t*, sample_state*) noexcept { return true; }
  void close() noexcept {}
};
static_assert(!nic::counter_source<throwing_read>);
static_assert(!nic::counter_source<silent_read>);
static_assert(!nic::counter_source<without_columns>);
static_assert(!nic::counter_source<int>);
