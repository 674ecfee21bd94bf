// SPDX-License-Identifier: Apache-2.0
// Where a sink that writes a file gets it from. Layer: sink.
#pragma once

#include <cstddef>

#include <fabscope/clock/clock_snapshot.hpp>
#include <fabscope/core/version.hpp>
#include <fabscope/sink/text_file.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Opens the file of a kind, for example "ops.csv". Called once per sink, when its first record
/// comes, so that a process without such records leaves no file.
struct FABSCOPE_VISIBLE file_opener {
  void* self = nullptr;
  /// A descriptor that the sink closes, or -1. Says itself why there is none.
  int (*open)(void* self, const char* kind) noexcept = nullptr;
};

/// What every sink with a file is told.
struct FABSCOPE_VISIBLE file_sink_options {
  file_opener opener;
  byte_budget* budget = nullptr;          ///< cap over all files; null: none. Outlives the sink
  const clock_snapshot* end = nullptr;    ///< end of a process that is gone; null: it is this one
  std::size_t buffer_bytes = 256 * 1024;  ///< rows wait here, up to a second
  const char* host = "";
  int rank = -1;  ///< -1: unknown
  int pid = 0;
};

FABSCOPE_NAMESPACE_END
