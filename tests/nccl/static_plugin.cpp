// SPDX-License-Identifier: Apache-2.0
// A program that is its own profiler: NCCL_PROFILER_PLUGIN=STATIC_PLUGIN finds the tables in it.
#include <fabscope/nccl/plugin.hpp>
#include <fabscope/session.hpp>

FABSCOPE_EXPORT_NCCL_PROFILER
