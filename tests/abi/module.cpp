// SPDX-License-Identifier: Apache-2.0
// A shared library with a copy of the library of its own, preloaded or opened RTLD_LOCAL.
#include <fabscope/session.hpp>

#include "work.hpp"

extern "C" __attribute__((visibility("default"))) void MODULE_RUN() {
  record_hundred<MODULE_NAME>(MODULE_FIRST);
}

/// Starts the session if none runs, as an adapter does; returns the owner's version.
extern "C" __attribute__((visibility("default"))) const char* MODULE_START() {
  const fabscope_table* table =
      fabscope::detail::ensure_session(static_cast<std::uint32_t>(fabscope::level::record), "test");
  return table == nullptr ? "none" : table->version;
}
