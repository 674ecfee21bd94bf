// SPDX-License-Identifier: Apache-2.0
// The tables that a host looks for, for a plugin and for a program of one's own. Layer: nccl.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include <fabscope/nccl/tracker.hpp>
#include <fabscope/session/env.hpp>
#include <fabscope/session/options.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl {

namespace detail {

/// What is asked of the host at a level: collectives and point-to-point operations, and when
/// recording the stamps of their kernels. FABSCOPE_NCCL_EVENTS says otherwise.
inline int wanted_events(std::uint32_t session_level) noexcept {
  std::uint64_t bits = event_coll | event_p2p;
  if (session_level >= static_cast<std::uint32_t>(level::record)) bits |= event_kernel_ch;
  const char* const text = environment::of_process().get_filled("FABSCOPE_NCCL_EVENTS");
  if (text == nullptr) return static_cast<int>(bits);
  const auto number = parse_number(text);
  if (number && *number < std::uint64_t{1} << event_bits) return static_cast<int>(*number);
  diagnostics::on_stderr().say(std::string("fabscope: FABSCOPE_NCCL_EVENTS: ") + text +
                               " is not allowed; allowed: a number from 0 to 0x1ffff");
  return static_cast<int>(bits);
}

/// Threads: under control_lock.
inline bool make_ready() noexcept {
  if (control == nullptr) control = new (std::nothrow) control_state;
  if (control == nullptr) return false;
  if (control->ready) return true;
  // A process of its own gives its handles generations of its own.
  const std::uint32_t seed = static_cast<std::uint32_t>(::getpid()) * 0x9E3779B1U;
  control->ready = operations.reserve(operation_capacity, seed) == errc::ok &&
                   channels.reserve(channel_capacity, seed) == errc::ok &&
                   communicators.reserve(65536, seed) == errc::ok;
  return control->ready;
}

struct communicator_facts {
  std::uint64_t id = 0;
  const char* name = nullptr;
  int nodes = 0;
  int ranks = 0;
  int rank = 0;
  logger log = nullptr;
  const void* caller = nullptr;
};

inline std::uint32_t not_negative(int number) noexcept {
  return number > 0 ? static_cast<std::uint32_t>(number) : 0;
}

/// A communicator begins. Where nothing is to be recorded its context stays null.
/// Threads: any, several at once.
inline int begin_communicator(void** context, int* mask, const communicator_facts& facts) noexcept {
  if (context == nullptr || mask == nullptr) return success;
  *context = nullptr;
  const fabscope_table* const table =
      fabscope::detail::ensure_session(static_cast<std::uint32_t>(level::count), "nccl");
  if (table == nullptr) return success;
  const int wanted = wanted_events(table->level);
  const std::uint32_t khz = gpu_clock_khz(vendor_of(facts.caller));
  const control_guard lock;
  if (!make_ready()) return success;
  communicator* const made = communicators.get(control->magazine);
  if (made == nullptr) return success;
  made->id = facts.id;
  made->rank = not_negative(facts.rank);
  made->ranks = not_negative(facts.ranks);
  made->nodes = not_negative(facts.nodes);
  made->gpu_khz = khz;
  made->mask = mask;
  relaxed_store(made->sends, 0U);
  relaxed_store(made->label, std::uint64_t{0});
  std::snprintf(made->name, sizeof made->name, "%s", facts.name == nullptr ? "" : facts.name);
  made->generation = 1;
  bool known = false;
  for (control_state::seen_before& one : control->seen) {
    if (one.id != made->id || one.rank != made->rank) continue;
    made->generation = ++one.count;
    known = true;
    break;
  }
  if (!known) control->seen.push_back({made->id, made->rank, 1});
  ++control->live;
  control->mask = mask;
  __atomic_add_fetch(&init_epoch, 1U, __ATOMIC_RELAXED);
  *context = communicators.handle_of(made).to_pointer();
  __atomic_store_n(mask, wanted, __ATOMIC_RELAXED);
  if (facts.log != nullptr && facts.rank == 0 && !control->logged) {
    control->logged = true;
    facts.log(log_info, log_profile, "fabscope", 0,
              "fabscope " FABSCOPE_VERSION_STRING ": events asked for 0x%x, GPU clock %u kHz",
              static_cast<unsigned>(wanted), khz);
  }
  return success;
}

/// A communicator ends. With the last one everything recorded so far is written.
inline int end_communicator(void* context) noexcept {
  bool last = false;
  {
    const control_guard lock;
    if (control == nullptr || !control->ready) return success;
    communicator* const one = communicators.find(handle::from_pointer(context));
    if (one == nullptr) return success;
    communicators.put(control->magazine, one);
    last = --control->live == 0;
    if (last) control->mask = nullptr;  // the host may go
  }
  if (!last) return success;
  if (const fabscope_table* table = fabscope::detail::find_session()) table->flush();
  return success;
}

/// Stores the mask of events in the host. False while there is no communicator.
inline bool ask_for(int mask) noexcept {
  const control_guard lock;
  if (control == nullptr || control->mask == nullptr) return false;
  __atomic_store_n(control->mask, mask, __ATOMIC_RELAXED);
  return true;
}

inline int init_1(void** context, int* mask) noexcept {
  return begin_communicator(context, mask, {.caller = __builtin_return_address(0)});
}
inline int init_4(void** context, int* mask, const char* name, std::uint64_t id, int nodes,
                  int ranks, int rank, logger log) noexcept {
  return begin_communicator(context, mask,
                            {id, name, nodes, ranks, rank, log, __builtin_return_address(0)});
}
inline int init_5(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                  int ranks, int rank, logger log) noexcept {
  return begin_communicator(context, mask,
                            {id, name, nodes, ranks, rank, log, __builtin_return_address(0)});
}

/// Constant: there before any constructor runs.
template <class Table, class Init, class Descriptor>
constexpr Table make_table(Init init, int (*start)(void*, void**, Descriptor*)) noexcept {
  return {"fabscope", init, start, &stop_event, &record_event_state, &end_communicator};
}

}  // namespace detail

inline constexpr table_v1 profiler_v1 =
    detail::make_table<table_v1>(&detail::init_1, &detail::start_event<descriptor_v1>);
inline constexpr table_v2 profiler_v2 =
    detail::make_table<table_v2>(&detail::init_1, &detail::start_event<descriptor_v2>);
inline constexpr table_v3 profiler_v3 =
    detail::make_table<table_v3>(&detail::init_1, &detail::start_event<descriptor_v3>);
inline constexpr table_v4 profiler_v4 =
    detail::make_table<table_v4>(&detail::init_4, &detail::start_event<descriptor_v4>);
inline constexpr table_v5 profiler_v5 =
    detail::make_table<table_v5>(&detail::init_5, &detail::start_event<descriptor_v5>);
inline constexpr table_v6 profiler_v6 =
    detail::make_table<table_v6>(&detail::init_5, &detail::start_event<descriptor_v6>);
inline constexpr table_v7 profiler_v7 =
    detail::make_table<table_v7>(&detail::init_5, &detail::start_event<descriptor_v7>);

/// Asks the host for these events from now on (`event_type` bits); 0: those of the session's level.
/// Operations in flight end as they began. Threads: any.
/// Errors: false while no communicator is initialised.
inline bool start_events(int mask = 0) noexcept {
  const fabscope_table* const table = fabscope::detail::find_session();
  if (table == nullptr) return false;
  return detail::ask_for(mask != 0 ? mask : detail::wanted_events(table->level));
}
/// Asks the host for nothing.  Threads: any.  Errors: as start_events.
inline bool stop_events() noexcept { return detail::ask_for(0); }

}  // namespace nccl

FABSCOPE_NAMESPACE_END

#define FABSCOPE_DETAIL_EXPORT extern "C" __attribute__((visibility("default"), used))
#define FABSCOPE_DETAIL_EXPORT_NCCL(n)                                           \
  extern "C" {                                                                   \
  extern fabscope::nccl::table_v##n ncclProfiler_v##n;                           \
  __attribute__((visibility("default"),                                          \
                 used)) constinit fabscope::nccl::table_v##n ncclProfiler_v##n = \
      fabscope::nccl::profiler_v##n;                                             \
  }

/// Defines the seven tables, and the functions that start and stop events while running (C, 0:
/// done), also under the names of the library's example plugin. Once per program or library, at
/// namespace scope. In a program the host finds them with NCCL_PROFILER_PLUGIN=STATIC_PLUGIN, if
/// the program exports them: link with -rdynamic (CMake: ENABLE_EXPORTS).
#define FABSCOPE_EXPORT_NCCL_PROFILER                                      \
  FABSCOPE_DETAIL_EXPORT_NCCL(1)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(2)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(3)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(4)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(5)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(6)                                           \
  FABSCOPE_DETAIL_EXPORT_NCCL(7)                                           \
  FABSCOPE_DETAIL_EXPORT int fabscope_profiler_start(int mask) {           \
    return fabscope::nccl::start_events(mask) ? 0 : 1;                     \
  }                                                                        \
  FABSCOPE_DETAIL_EXPORT int fabscope_profiler_stop() {                    \
    return fabscope::nccl::stop_events() ? 0 : 1;                          \
  }                                                                        \
  FABSCOPE_DETAIL_EXPORT int exampleProfilerStart(int mask, const char*) { \
    return fabscope::nccl::start_events(mask) ? 0 : 1;                     \
  }                                                                        \
  FABSCOPE_DETAIL_EXPORT int exampleProfilerStop() { return fabscope::nccl::stop_events() ? 0 : 1; }
