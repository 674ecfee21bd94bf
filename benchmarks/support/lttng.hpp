// SPDX-License-Identifier: Apache-2.0
// A live LTTng session of the benchmark's own, and the loops of support/lttng_provider.cpp in it.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

class lttng {
 public:
  /// Starts the session daemon and loads the tracepoints, the first time; it ends with the process.
  /// Why that cannot be done here, or nothing.
  static const std::string& absent();

  static void enabled(std::size_t n);
  static void disabled(std::size_t n);
};

}  // namespace bench
