// SPDX-License-Identifier: Apache-2.0
// Starts following what the application does with a libfabric object. Layer: fabric.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/domain_hooks.hpp>
#include <fabscope/fabric/endpoint_hooks.hpp>
#include <fabscope/fabric/queue_hooks.hpp>
#include <fabscope/fabric/timing.hpp>
#include <fabscope/scope/link.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

namespace detail {

/// True if some copy of the library in this process can own a session. If none can, one may come
/// later, in a plugin.
inline bool somebody_owns_sessions() noexcept {
  const fabscope::detail::anchor_list all = fabscope::detail::find_anchors();
  for (std::size_t i = 0; i < all.size; ++i) {
    if (all.item[i]->start != nullptr) return true;
  }
  return false;
}

/// What instrument() does before it patches anything. False: leave the object alone.
inline bool may_patch(const fid* object, std::uint32_t level, const char* who) noexcept {
  if (object == nullptr || object->ops == nullptr) return false;
  switch (owner_of(object->ops)) {
    case table_owner::provider: break;
    case table_owner::ours: return false;
    case table_owner::other_copy:
      count_left_alone("object hooked by another copy of the library", "instrument");
      return false;
  }
  const fabscope_table* session = fabscope::detail::ensure_session(level, who);
  if (session == nullptr) {
    if (somebody_owns_sessions()) return false;  // and did not want one: FABSCOPE=off
  } else if ((__atomic_load_n(session->mask, __ATOMIC_ACQUIRE) & recording_fabric) == 0) {
    return false;
  }
  if (the_registry() == nullptr || !reserve_pool()) return false;
  pin_module();
  return true;
}

inline constexpr std::uint32_t compiled_in_level = 2;  // record, unless FABSCOPE says otherwise

}  // namespace detail

/// Everything that is opened from this fabric from now on: domains, and their RDM endpoints,
/// completion queues and address vectors. Starts a session if none runs and a copy of the library
/// can own one. Threads: as fi_control on the object: nobody else uses it meanwhile. Errors: false
/// if it is left alone: hooked already, recording off, or no memory.
template <operation_policy Policy = timing>
bool instrument(fid_fabric* fabric, std::uint32_t level = detail::compiled_in_level,
                const char* who = "instrument") noexcept {
  return fabric != nullptr && detail::may_patch(&fabric->fid, level, who) &&
         detail::fabric_hooks<Policy>::hook(fabric) != nullptr;
}

/// The same from a domain on. `info`, where given, names the NIC before the first endpoint does.
template <operation_policy Policy = timing>
bool instrument(fid_domain* domain, const fi_info* info = nullptr) noexcept {
  return domain != nullptr &&
         detail::may_patch(&domain->fid, detail::compiled_in_level, "instrument") &&
         detail::domain_hooks<Policy>::hook(domain, info) != nullptr;
}

/// One RDM endpoint, before anything is bound to it: a completion queue or address vector that is
/// bound earlier, or is not instrumented, is not known. `info`: what it was opened with; without it
/// only *msg calls can be followed to their completion, because the endpoint's own flags are not
/// known.
template <operation_policy Policy = timing>
bool instrument(fid_ep* ep, const fi_info* info = nullptr) noexcept {
  if (ep == nullptr || ep->fid.fclass != FI_CLASS_EP ||
      !detail::may_patch(&ep->fid, detail::compiled_in_level, "instrument")) {
    return false;
  }
  std::uint32_t nic = 0;
  {
    const detail::control_lock lock(detail::the_registry()->mutex);
    nic = detail::the_registry()->nic(info);
  }
  return detail::endpoint_hooks<Policy>::hook(ep, info, nic, FI_FORMAT_UNSPEC) != nullptr;
}

/// One completion queue, before endpoints are bound to it. `format`: of its entries; if it is not
/// given, polls are counted and operations are not followed.
template <operation_policy Policy = timing>
bool instrument(fid_cq* cq, fi_cq_format format = FI_CQ_FORMAT_UNSPEC) noexcept {
  return cq != nullptr && detail::may_patch(&cq->fid, detail::compiled_in_level, "instrument") &&
         detail::queue_hooks<Policy>::hook(cq, format, 0, 0, false) != nullptr;
}

/// One address vector, before addresses are inserted. `format`: fi_info::addr_format.
template <operation_policy Policy = timing>
bool instrument(fid_av* av, std::uint32_t format, const fi_av_attr* attributes = nullptr) noexcept {
  return av != nullptr && detail::may_patch(&av->fid, detail::compiled_in_level, "instrument") &&
         detail::vector_hooks<Policy>::hook(av, attributes, format) != nullptr;
}

}  // namespace fabric

FABSCOPE_NAMESPACE_END
