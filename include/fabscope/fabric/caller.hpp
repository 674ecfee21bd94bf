// SPDX-License-Identifier: Apache-2.0
// Tells the application's calls from libfabric's own. Layer: fabric.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include <fabscope/core/config.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// How deep the thread is in calls of the control path (open, bind, enable, close).
inline thread_local constinit std::uint32_t control_depth = 0;

struct control_scope {
  control_scope() noexcept { ++control_depth; }
  ~control_scope() { --control_depth; }
  control_scope(const control_scope&) = delete;
  control_scope& operator=(const control_scope&) = delete;
};

/// Where the module that contains an address was loaded, null if unknown.
inline const void* module_of(const void* address, const char** name = nullptr) noexcept {
  Dl_info info;
  if (address == nullptr || ::dladdr(address, &info) == 0) return nullptr;
  if (name != nullptr) *name = info.dli_fname;
  return info.dli_fbase;
}

/// True if the code at `caller` is libfabric's or a provider's: the module of the provider's
/// function `real`, the one that exports fi_getinfo, or one named like a loadable provider. Where
/// libfabric is linked statically there is no telling by address, and the answer is no.
inline bool is_libfabric(const void* caller, const void* real) noexcept {
  const char* name = nullptr;
  const void* from = module_of(caller, &name);
  if (from == nullptr) return false;
  const void* own = module_of(reinterpret_cast<const void*>(&module_of));
  if (from == own) return false;
  if (from == module_of(real)) return true;
  const std::size_t size = name == nullptr ? 0 : std::strlen(name);
  if (size > 6 && std::strcmp(name + size - 6, "-fi.so") == 0) return true;
  const char* base = name == nullptr ? nullptr : std::strrchr(name, '/');
  base = base == nullptr ? name : base + 1;
  return base != nullptr && std::strncmp(base, "libfabric.so", 12) == 0;
}

/// Keeps this module in memory for good: the objects of others are about to point into it.
inline void pin_module() noexcept {
  static constinit int pinned = 0;
  if (__atomic_exchange_n(&pinned, 1, __ATOMIC_RELAXED) != 0) return;
  const char* name = nullptr;
  if (module_of(reinterpret_cast<const void*>(&module_of), &name) == nullptr) return;
  (void)::dlopen(name,
                 RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // the executable: fails, stays anyway
}

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
