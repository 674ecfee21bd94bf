// SPDX-License-Identifier: Apache-2.0
// The trampolines of fabrics and domains: they hook what is opened. Layer: fabric.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/endpoint_hooks.hpp>
#include <fabscope/fabric/event_hooks.hpp>
#include <fabscope/fabric/queue_hooks.hpp>
#include <fabscope/fabric/registry.hpp>
#include <fabscope/fabric/vector_hooks.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// The application's own call, not one from inside the provider.
#define FABSCOPE_DETAIL_FROM_APPLICATION(real) \
  (control_depth == 0 && !Policy::nested() &&  \
   !is_libfabric(__builtin_return_address(0), reinterpret_cast<const void*>(real)))

template <operation_policy Policy>
struct domain_hooks {
  static domain* hook(fid_domain* object, const fi_info* info) noexcept {
    registry* all = the_registry();
    if (all == nullptr) return nullptr;
    auto* made = new (std::nothrow) domain;
    if (made == nullptr) return nullptr;
    made->object = object;
    if (info != nullptr) {
      const control_lock lock(all->mutex);
      made->nic = all->nic(info);
      made->format = info->addr_format;
    }
    const bool patched = made->tables.patch(object->fid.ops, made, [](fi_ops& copy) noexcept {
      replace(copy, &fi_ops::close, &close);
    }) && made->tables.patch(object->ops, made, [](fi_ops_domain& copy) noexcept {
      replace(copy, &fi_ops_domain::av_open, &av_open);
      replace(copy, &fi_ops_domain::cq_open, &cq_open);
      replace(copy, &fi_ops_domain::endpoint, &open_endpoint);
      replace(copy, &fi_ops_domain::endpoint2, &open_endpoint2);
      replace(copy, &fi_ops_domain::scalable_ep, &scalable_ep);
      replace(copy, &fi_ops_domain::srx_ctx, &srx_ctx);
      replace(copy, &fi_ops_domain::cntr_open, &cntr_open);
    }) && made->tables.patch(object->mr, made, [](fi_ops_mr& copy) noexcept {
      replace(copy, &fi_ops_mr::reg, &reg);
      replace(copy, &fi_ops_mr::regv, &regv);
      replace(copy, &fi_ops_mr::regattr, &regattr);
    });
    if (patched) return made;
    unpatch(object->mr);
    unpatch(object->fid.ops);
    unpatch(object->ops);
    delete made;
    return nullptr;
  }

 private:
  static domain& of(fid_domain* object) noexcept {
    return *static_cast<domain*>(prefix_of(object->ops).hook);
  }
  static const fi_ops_domain& real(fid_domain* object) noexcept {
    return original_of<fi_ops_domain>(prefix_of(object->ops));
  }

  static int av_open(fid_domain* object, fi_av_attr* attributes, fid_av** av, void* context) {
    domain& hook = of(object);
    const auto original = real(object).av_open;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, attributes, av, context);
    }
    if (result == 0 && ours) vector_hooks<Policy>::hook(*av, attributes, hook.format);
    return result;
  }

  static int cq_open(fid_domain* object, fi_cq_attr* attributes, fid_cq** cq, void* context) {
    domain& hook = of(object);
    const auto original = real(object).cq_open;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    const bool peer = attributes != nullptr && (attributes->flags & FI_PEER) != 0;
    int result;
    {
      const control_scope depth;
      result = original(object, attributes, cq, context);
    }
    if (result != 0 || !ours) return result;
    if (peer) {
      count_left_alone("completion queue shared between providers", "fi_cq_open");
      return result;
    }
    // A provider that chose the format itself may have written it back; if not, it stays unknown.
    const bool known = attributes != nullptr;
    queue_hooks<Policy>::hook(*cq, known ? attributes->format : FI_CQ_FORMAT_UNSPEC,
                              known ? attributes->size : 0, hook.nic, false);
    return result;
  }

  static void opened(domain& hook, const fi_info* info, fid_ep* ep) noexcept {
    if (ep->fid.fclass != FI_CLASS_EP && ep->fid.fclass != FI_CLASS_SEP) {
      count_left_alone("endpoint type not supported", "other");
      return;
    }
    std::uint32_t nic = 0;
    {
      registry* all = &known_registry();
      const control_lock lock(all->mutex);
      nic = all->nic(info);
    }
    if (nic == 0) nic = hook.nic;
    if (hook.nic == 0) hook.nic = nic;
    if (hook.format == FI_FORMAT_UNSPEC && info != nullptr) hook.format = info->addr_format;
    endpoint_hooks<Policy>::hook(ep, info, nic, hook.format);
  }

  static int open_endpoint(fid_domain* object, fi_info* info, fid_ep** ep, void* context) {
    domain& hook = of(object);
    const auto original = real(object).endpoint;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, info, ep, context);
    }
    if (result == 0 && ours) opened(hook, info, *ep);
    return result;
  }
  static int open_endpoint2(fid_domain* object, fi_info* info, fid_ep** ep, std::uint64_t flags,
                            void* context) {
    domain& hook = of(object);
    const auto original = real(object).endpoint2;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, info, ep, flags, context);
    }
    if (result != 0 || !ours) return result;
    if ((flags & FI_PEER) != 0)
      count_left_alone("endpoint shared between providers", "fi_endpoint2");
    else
      opened(hook, info, *ep);
    return result;
  }

  static int scalable_ep(fid_domain* object, fi_info* info, fid_ep** ep, void* context) {
    domain& hook = of(object);
    const auto original = real(object).scalable_ep;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, info, ep, context);
    }
    if (result == 0 && ours) opened(hook, info, *ep);
    return result;
  }
  static int srx_ctx(fid_domain* object, fi_rx_attr* attributes, fid_ep** ep, void* context) {
    domain& hook = of(object);
    const auto original = real(object).srx_ctx;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, attributes, ep, context);
    }
    if (result == 0 && ours) {
      endpoint_hooks<Policy>::hook_context(*ep, nullptr, nullptr, attributes, hook.nic,
                                           hook.format);
    }
    return result;
  }

  static int cntr_open(fid_domain* object, fi_cntr_attr* attributes, fid_cntr** out,
                       void* context) {
    domain& hook = of(object);
    const auto original = real(object).cntr_open;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, attributes, out, context);
    }
    const bool peer = attributes != nullptr && (attributes->flags & FI_PEER) != 0;
    if (result != 0 || !ours) return result;
    if (peer)
      count_left_alone("counter shared between providers", "fi_cntr_open");
    else
      counter_hooks<Policy>::hook(
          *out, hook.nic, attributes != nullptr && attributes->events != FI_CNTR_EVENTS_COMP);
    return result;
  }

  // The application registers memory; a provider that registers for itself calls from inside.
  template <class Real>
  static int registered(fid* object, std::uint64_t bytes, Real&& real) {
    const auto* table = reinterpret_cast<fid_domain*>(object)->mr;
    const table_prefix& prefix = prefix_of(table);
    const bool ours = control_depth == 0 && !Policy::nested();
    const std::uint64_t begin = ours ? Policy::control_begins() : 0;
    int result;
    {
      const control_scope depth;
      result = real(original_of<fi_ops_mr>(prefix));
    }
    if (ours) {
      Policy::registered(static_cast<const domain*>(prefix.hook)->nic, bytes, begin, result);
    }
    return result;
  }
  static int reg(fid* object, const void* buffer, std::size_t size, std::uint64_t access,
                 std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                 void* context) {
    return registered(object, size, [&](const fi_ops_mr& real) {
      return real.reg(object, buffer, size, access, offset, key, flags, out, context);
    });
  }
  static int regv(fid* object, const iovec* parts, std::size_t count, std::uint64_t access,
                  std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                  void* context) {
    return registered(object, length_of(parts, count), [&](const fi_ops_mr& real) {
      return real.regv(object, parts, count, access, offset, key, flags, out, context);
    });
  }
  static int regattr(fid* object, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** out) {
    return registered(
        object, length_of(attributes->mr_iov, attributes->iov_count),
        [&](const fi_ops_mr& real) { return real.regattr(object, attributes, flags, out); });
  }

  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto* hook = static_cast<domain*>(prefix.hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops>(prefix).close(object);
    }
    if (result == 0) delete hook;
    return result;
  }
};

template <operation_policy Policy>
struct fabric_hooks {
  static fabric_object* hook(fid_fabric* object) noexcept {
    auto* made = new (std::nothrow) fabric_object;
    if (made == nullptr) return nullptr;
    made->object = object;
    const bool patched = made->tables.patch(object->fid.ops, made, [](fi_ops& copy) noexcept {
      replace(copy, &fi_ops::close, &close);
    }) && made->tables.patch(object->ops, made, [](fi_ops_fabric& copy) noexcept {
      replace(copy, &fi_ops_fabric::domain, &open_domain);
      replace(copy, &fi_ops_fabric::domain2, &open_domain2);
      replace(copy, &fi_ops_fabric::eq_open, &open_event_queue);
      replace(copy, &fi_ops_fabric::trywait, &trywait);
    });
    if (patched) return made;
    unpatch(object->fid.ops);
    unpatch(object->ops);
    delete made;
    return nullptr;
  }

 private:
  static int open_domain(fid_fabric* object, fi_info* info, fid_domain** out, void* context) {
    const auto original = original_of<fi_ops_fabric>(prefix_of(object->ops)).domain;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, info, out, context);
    }
    if (result == 0 && ours) domain_hooks<Policy>::hook(*out, info);
    return result;
  }
  static int open_domain2(fid_fabric* object, fi_info* info, fid_domain** out, std::uint64_t flags,
                          void* context) {
    const auto original = original_of<fi_ops_fabric>(prefix_of(object->ops)).domain2;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, info, out, flags, context);
    }
    if (result == 0 && ours && (flags & FI_PEER) == 0) domain_hooks<Policy>::hook(*out, info);
    return result;
  }
  static int open_event_queue(fid_fabric* object, fi_eq_attr* attributes, fid_eq** out,
                              void* context) {
    const auto original = original_of<fi_ops_fabric>(prefix_of(object->ops)).eq_open;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    int result;
    {
      const control_scope depth;
      result = original(object, attributes, out, context);
    }
    if (result == 0 && ours) event_hooks<Policy>::hook(*out);
    return result;
  }
  /// FI_SUCCESS lets the application sleep until a file descriptor wakes it: what follows is no gap
  /// in which nobody polled.
  static int trywait(fid_fabric* object, fid** objects, int count) {
    const auto original = original_of<fi_ops_fabric>(prefix_of(object->ops)).trywait;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return original(object, objects, count);
    int result;
    {
      const inside<typename Policy::thread> depth(*thread);
      result = original(object, objects, count);
    }
    for (int i = 0; result == 0 && i < count; ++i) {
      const fid* one = objects[i];
      if (one == nullptr) continue;
      if (one->fclass == FI_CLASS_CQ) {
        const auto* table = reinterpret_cast<const fid_cq*>(one)->ops;
        if (owner_of(table) == table_owner::ours) {
          Policy::may_sleep(*thread, *static_cast<completion_queue*>(prefix_of(table).hook));
        }
      } else if (one->fclass == FI_CLASS_CNTR) {
        const auto* table = reinterpret_cast<const fid_cntr*>(one)->ops;
        if (owner_of(table) == table_owner::ours) {
          Policy::may_sleep(*thread, static_cast<counter*>(prefix_of(table).hook)->polls);
        }
      }
    }
    return result;
  }
  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto* hook = static_cast<fabric_object*>(prefix.hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops>(prefix).close(object);
    }
    if (result == 0) delete hook;
    return result;
  }
};

#undef FABSCOPE_DETAIL_FROM_APPLICATION

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
