// SPDX-License-Identifier: Apache-2.0
// What a counter is, and what reads counters. Layer: nic.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include <fabscope/core/version.hpp>
#include <fabscope/stats/counter_rate.hpp>
#include <fabscope/stats/nic_rows.hpp>
#include <fabscope/stats/sample_ring.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// All that is known of one counter of one NIC. Values are kept as they are read; `value * scale`
/// is in `unit`.
struct FABSCOPE_VISIBLE counter_column {
  std::string device;  ///< as in a column's title, for example "mlx5_0" or "mlx5_0/2"
  std::string name;    ///< as in a column's title, for example "rh:nacks"
  std::string unit;    ///< "B", "packets", "events", "ns"; empty: a number
  std::string path;    ///< where it is read
  counter_format format{};
  std::uint64_t scale = 1;
  nic_role role = nic_role::other;
  std::uint8_t flags = 0;  ///< nic_flag bits

  // Those that the compiler would make are visible as the type is.
  FABSCOPE_HIDDEN counter_column() = default;
  FABSCOPE_HIDDEN counter_column(const counter_column&) = default;
  FABSCOPE_HIDDEN counter_column(counter_column&&) noexcept = default;
  FABSCOPE_HIDDEN counter_column& operator=(const counter_column&) = default;
  FABSCOPE_HIDDEN counter_column& operator=(counter_column&&) noexcept = default;
  FABSCOPE_HIDDEN ~counter_column() = default;
};

/// Reads a fixed set of counters. open() may be called again after close(), and after a device went
/// and came back; columns never change after the first open().
/// semantics: read() fills as many values and states as there are columns, allocates nothing, and
/// returns false if the device is gone, so that it is worth closing and opening later.
template <class T>
concept counter_source = requires(T& source, const T& seen, std::uint64_t* values,
                                  sample_state* states) {
  { seen.columns() }
  noexcept->std::convertible_to<std::span<const counter_column>>;
  { source.open() }
  noexcept->std::same_as<bool>;
  { source.read(values, states) }
  noexcept->std::same_as<bool>;
  { source.close() }
  noexcept;
};

}  // namespace nic

FABSCOPE_NAMESPACE_END
