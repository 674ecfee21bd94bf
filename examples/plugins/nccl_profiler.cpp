// SPDX-License-Identifier: Apache-2.0
// libnccl-profiler-fabscope.so: NCCL and RCCL load it and tell it about every collective.
//
//   NCCL_PROFILER_PLUGIN=/path/to/libnccl-profiler-fabscope.so ./program
#include <fabscope/nccl/plugin.hpp>
#include <fabscope/session.hpp>

FABSCOPE_EXPORT_NCCL_PROFILER
