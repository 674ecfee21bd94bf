// SPDX-License-Identifier: Apache-2.0
// fi_fabric and fi_fabric2 as a preloaded library defines them. Layer: fabric.
#pragma once

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cstdint>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/instrument.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

namespace detail {

/// The definition behind ours: the next one, or that of a libfabric which a plugin loaded for
/// itself.
inline void* next_symbol(const char* name, const char* version) noexcept {
  if (void* found = ::dlvsym(RTLD_NEXT, name, version)) return found;
  if (void* found = ::dlsym(RTLD_NEXT, name)) return found;
  void* library = ::dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = ::dlvsym(library, name, version);
  return found != nullptr ? found : ::dlsym(library, name);
}

inline constexpr std::uint32_t preload_level = 1;  // count, unless FABSCOPE says otherwise

/// Calls the real function and, if the application called us, follows what it opens.
template <class Function, class... Args>
int interposed(const char* name, const char* version, const void* caller, fid_fabric** fabric,
               Args... args) {
  auto* const real = reinterpret_cast<Function*>(next_symbol(name, version));
  if (real == nullptr) return -FI_ENOSYS;
  const bool from_application =
      control_depth == 0 && !is_libfabric(caller, reinterpret_cast<const void*>(real));
  int result;
  {
    const control_scope depth;
    result = real(args...);
  }
  if (result == 0 && from_application) instrument(*fabric, preload_level, "preload");
  return result;
}

}  // namespace detail

/// What a preloaded library does in fi_fabric. `caller`: __builtin_return_address(0) there. Calls
/// from inside libfabric, which opens fabrics for its own use, are passed on and not followed.
inline int interposed_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context,
                                const void* caller) {
  return detail::interposed<int(fi_fabric_attr*, fid_fabric**, void*)>(
      "fi_fabric", "FABRIC_1.1", caller, fabric, attributes, fabric, context);
}

/// The same for fi_fabric2, which libfabric has since 2.0.
inline int interposed_fi_fabric2(fi_info* info, fid_fabric** fabric, std::uint64_t flags,
                                 void* context, const void* caller) {
  return detail::interposed<int(fi_info*, fid_fabric**, std::uint64_t, void*)>(
      "fi_fabric2", "FABRIC_1.8", caller, fabric, info, fabric, flags, context);
}

}  // namespace fabric

FABSCOPE_NAMESPACE_END
