// SPDX-License-Identifier: Apache-2.0
// fi_fabric and fi_fabric2 for those who stand in for them: preload, program, linker. Layer:
// fabric.
#pragma once

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cstdint>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/instrument.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

/// Where the function that stands in for libfabric's is defined. It decides which level a session
/// has that is started for it.
enum class stand_in { preload, program };

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
int interposed(const char* name, const char* version, stand_in as, const void* caller,
               fid_fabric** fabric, Args... args) {
  auto* const real = reinterpret_cast<Function*>(next_symbol(name, version));
  if (real == nullptr) return -FI_ENOSYS;
  const bool from_application =
      control_depth == 0 && !is_libfabric(caller, reinterpret_cast<const void*>(real));
  int result;
  {
    const control_scope depth;
    result = real(args...);
  }
  if (result == 0 && from_application) {
    if (as == stand_in::preload)
      instrument(*fabric, preload_level, "preload");
    else
      instrument(*fabric);
  }
  return result;
}

}  // namespace detail

/// What a library or a program that defines fi_fabric does in it. `caller`:
/// __builtin_return_address(0) there. Calls from inside libfabric, which opens fabrics for its own
/// use, are passed on and not followed. A program that defines the function exports it too, where
/// libfabric is shared: the linker does that by itself.
inline int interposed_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context,
                                const void* caller, stand_in as = stand_in::preload) {
  return detail::interposed<int(fi_fabric_attr*, fid_fabric**, void*)>(
      "fi_fabric", "FABRIC_1.1", as, caller, fabric, attributes, fabric, context);
}

/// The same for fi_fabric2, which libfabric has since 2.0.
inline int interposed_fi_fabric2(fi_info* info, fid_fabric** fabric, std::uint64_t flags,
                                 void* context, const void* caller,
                                 stand_in as = stand_in::preload) {
  return detail::interposed<int(fi_info*, fid_fabric**, std::uint64_t, void*)>(
      "fi_fabric2", "FABRIC_1.8", as, caller, fabric, info, fabric, flags, context);
}

/// What a program linked with -Wl,--wrap=fi_fabric does in __wrap_fi_fabric, with the function
/// __real_fi_fabric: only calls from the files that are linked so come there, none of libfabric's.
template <class Real>
int wrapped_fi_fabric(Real* real, fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  const int result = real(attributes, fabric, context);
  if (result == 0) instrument(*fabric);
  return result;
}

}  // namespace fabric

FABSCOPE_NAMESPACE_END
