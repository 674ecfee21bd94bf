// SPDX-License-Identifier: Apache-2.0
// A provider by which libfabric itself hooks the fabrics that it opens (FI_HOOK). Layer: fabric.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include <fabscope/fabric/instrument.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

namespace detail {

inline constexpr std::uint32_t hook_level = 1;  // count, unless FABSCOPE says otherwise

/// libfabric hands over a fabric that it has just opened, in `attributes`, and gives the
/// application what comes back: the same one, followed. Fabrics that a layered provider opens for
/// itself come here too; what it opens from them is left alone, because it is not the application
/// that does.
inline int hook_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void*) {
  if (attributes == nullptr || attributes->fabric == nullptr) return -FI_EINVAL;
  *fabric = attributes->fabric;
  instrument(*fabric, hook_level, "hook provider");
  return 0;
}

}  // namespace detail

/// What fi_prov_ini returns in a library named lib<name>-fi.so in one of the folders of
/// FI_PROVIDER_PATH. FI_HOOK=<name> then turns it on; a provider without getinfo is a hook.
inline fi_provider* hook_provider(const char* name) noexcept {
  static constinit fi_provider provider{};
  provider.version = FI_VERSION(1, 0);
  provider.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  provider.name = name;
  provider.fabric = &detail::hook_fabric;
  provider.cleanup = [] {};
  return &provider;
}

}  // namespace fabric

FABSCOPE_NAMESPACE_END
