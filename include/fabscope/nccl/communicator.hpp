// SPDX-License-Identifier: Apache-2.0
// Communicators that the host has told of, and what is asked of host and GPU when they begin.
// Layer: nccl.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/nccl/abi.hpp>
#include <fabscope/pool/slot_pool.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl::detail {

struct communicator {
  slot_tag pool_tag;
  std::uint64_t id;
  std::uint32_t rank;
  std::uint32_t ranks;
  std::uint32_t nodes;
  std::uint32_t generation;  ///< 1: the first of this id and rank in the process
  std::uint32_t gpu_khz;     ///< 0: unknown
  std::uint32_t sends;       ///< numbers of point-to-point operations
  std::uint64_t label;       ///< session << 32 | label there
  const int* mask;           ///< of the host, for the whole process
  char name[128];
};
using communicator_pool = slot_pool<communicator>;

/// Holds the process's communicators.  Threads: under its lock.
struct control_state {
  struct seen_before {
    std::uint64_t id;
    std::uint32_t rank;
    std::uint32_t count;
  };
  communicator_pool::magazine magazine;
  std::vector<seen_before> seen;
  std::uint32_t live = 0;
  bool ready = false;  ///< the pools have their addresses
  bool logged = false;
  int* mask = nullptr;  ///< of the host
};
inline constinit communicator_pool communicators;
inline constinit pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;
inline constinit control_state* control = nullptr;  ///< made once, kept for good
/// Counts initialisations: texts of the host may have moved since.
inline constinit std::uint32_t init_epoch = 1;

class control_guard {
 public:
  control_guard() noexcept { ::pthread_mutex_lock(&control_lock); }
  ~control_guard() { ::pthread_mutex_unlock(&control_lock); }
  control_guard(const control_guard&) = delete;
  control_guard& operator=(const control_guard&) = delete;
};

enum class vendor { unknown, nvidia, amd };

/// Whose library the code at this address belongs to, by the name of its file.
inline vendor vendor_of(const void* code) noexcept {
  Dl_info where{};
  if (::dladdr(code, &where) == 0 || where.dli_fname == nullptr) return vendor::unknown;
  const char* slash = std::strrchr(where.dli_fname, '/');
  const std::string_view file = slash == nullptr ? where.dli_fname : slash + 1;
  if (file.find("librccl") != file.npos) return vendor::amd;
  if (file.find("libnccl") != file.npos) return vendor::nvidia;
  return vendor::unknown;
}

/// A function of a library that is loaded already; none is loaded for this.
inline void* loaded_symbol(const char* library, const char* name) noexcept {
  void* handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = ::dlsym(handle, name);
  ::dlclose(handle);  // whoever loaded it keeps it
  return found;
}

/// Ticks per millisecond of the stamps that kernels write; 0 if nobody says. NVIDIA's are
/// nanoseconds; AMD's count at a rate that the runtime knows.
inline std::uint32_t gpu_clock_khz(vendor host) noexcept {
  if (host == vendor::nvidia) return 1000000;
  if (host != vendor::amd) return 0;
  constexpr int wall_clock_rate = 10017;  // hipDeviceAttributeWallClockRate
  for (const char* library : {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"}) {
    auto* device_of = reinterpret_cast<int (*)(int*)>(loaded_symbol(library, "hipGetDevice"));
    auto* attribute =
        reinterpret_cast<int (*)(int*, int, int)>(loaded_symbol(library, "hipDeviceGetAttribute"));
    int device = 0;
    int khz = 0;
    if (device_of == nullptr || attribute == nullptr) continue;
    if (device_of(&device) != 0 || attribute(&khz, wall_clock_rate, device) != 0) return 0;
    return khz >= 1000 && khz <= 10000000 ? static_cast<std::uint32_t>(khz) : 0;
  }
  return 0;
}

}  // namespace nccl::detail

FABSCOPE_NAMESPACE_END
