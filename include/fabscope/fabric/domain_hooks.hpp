// SPDX-License-Identifier: Apache-2.0
// The trampolines of fabrics, domains and address vectors: they hook what is opened. Layer: fabric.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/endpoint_hooks.hpp>
#include <fabscope/fabric/queue_hooks.hpp>
#include <fabscope/fabric/registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// The application's own call, not one from inside the provider.
#define FABSCOPE_DETAIL_FROM_APPLICATION(real) \
  (control_depth == 0 && !Policy::nested() &&  \
   !is_libfabric(__builtin_return_address(0), reinterpret_cast<const void*>(real)))

template <operation_policy Policy>
struct vector_hooks {
  static address_vector* hook(fid_av* object, const fi_av_attr* attributes,
                              std::uint32_t format) noexcept {
    registry* all = the_registry();
    if (all == nullptr) return nullptr;
    auto* made = new (std::nothrow) address_vector;
    if (made == nullptr) return nullptr;
    made->object = object;
    made->format = format;
    if (attributes != nullptr) {
      made->is_table = attributes->type == FI_AV_TABLE;
      made->is_asynchronous = (attributes->flags & FI_EVENT) != 0;
      if (attributes->rx_ctx_bits > 0 && attributes->rx_ctx_bits < 64) {
        made->mask = ~fi_addr_t{0} >> attributes->rx_ctx_bits;
      }
    }
    const control_lock lock(all->mutex);
    made->addresses = all->new_map();
    const bool patched =
        made->addresses != nullptr &&
        made->tables.patch(object->fid.ops, made,
                           [](fi_ops& copy) noexcept { replace(copy, &fi_ops::close, &close); }) &&
        made->tables.patch(object->ops, made, [](fi_ops_av& copy) noexcept {
          replace(copy, &fi_ops_av::insert, &insert);
          replace(copy, &fi_ops_av::insertsvc, &insertsvc);
          replace(copy, &fi_ops_av::insertsym, &insertsym);
          replace(copy, &fi_ops_av::remove, &remove);
        });
    if (!patched) {
      unpatch(object->fid.ops);
      unpatch(object->ops);
      delete made;
      return nullptr;
    }
    made->next = all->vectors;
    all->vectors = made;
    return made;
  }

 private:
  // The provider tells the address of each fi_addr that it has just given. The application is
  // inside a call that changes this address vector, so this is a moment at which it may be asked.
  // udp;ofi_rxd 1.17 does not know its own fi_addr 0: then it is what the application inserted.
  static void learn(const table_prefix& prefix, const fi_addr_t* given, std::size_t count,
                    fi_addr_t first, const void* inserted_addresses) noexcept {
    auto& hook = *static_cast<address_vector*>(prefix.hook);
    const auto& real = original_of<fi_ops_av>(prefix);
    if (!has_member(&real, &fi_ops_av::lookup)) return;
    registry* all = &known_registry();
    const control_lock lock(all->mutex);
    for (std::size_t i = 0; i < count; ++i) {
      const fi_addr_t at = given != nullptr ? given[i] : first + i;
      if (at == FI_ADDR_NOTAVAIL) continue;
      alignas(8) unsigned char address[512] = {};
      std::size_t size = sizeof address;
      if (real.lookup(hook.object, at, address, &size) != 0) {
        size = hook.format == FI_SOCKADDR_IN    ? sizeof(sockaddr_in)
               : hook.format == FI_SOCKADDR_IN6 ? sizeof(sockaddr_in6)
                                                : 0;
        if (size == 0 || inserted_addresses == nullptr) continue;
        std::memcpy(address, static_cast<const char*>(inserted_addresses) + i * size, size);
      }
      if (size > sizeof address) continue;
      const std::uint32_t name = all->text(address_text(hook.format, address, size));
      hook.addresses->set(at & hook.mask, name, Policy::label(name));
    }
  }

  template <class Real>
  static int inserted(const table_prefix& prefix, fi_addr_t* given, std::size_t count,
                      const void* addresses, Real&& real) {
    auto& hook = *static_cast<address_vector*>(prefix.hook);
    int result;
    {
      const control_scope depth;
      result = real(original_of<fi_ops_av>(prefix));
    }
    if (hook.is_asynchronous) {
      count_left_alone("addresses of an asynchronous insertion", "fi_av_insert");
    } else if (result > 0) {
      // Without an array for them, a table hands out the next indices.
      if (given != nullptr)
        learn(prefix, given, count, 0, addresses);
      else if (hook.is_table)
        learn(prefix, nullptr, static_cast<std::size_t>(result), hook.inserted, nullptr);
      hook.inserted += static_cast<std::uint64_t>(result);
    }
    return result;
  }

  static int insert(fid_av* av, const void* address, std::size_t count, fi_addr_t* given,
                    std::uint64_t flags, void* context) {
    return inserted(prefix_of(av->ops), given, count, address, [&](const fi_ops_av& real) {
      return real.insert(av, address, count, given, flags, context);
    });
  }
  static int insertsvc(fid_av* av, const char* node, const char* service, fi_addr_t* given,
                       std::uint64_t flags, void* context) {
    return inserted(prefix_of(av->ops), given, 1, nullptr, [&](const fi_ops_av& real) {
      return real.insertsvc(av, node, service, given, flags, context);
    });
  }
  static int insertsym(fid_av* av, const char* node, std::size_t nodes, const char* service,
                       std::size_t services, fi_addr_t* given, std::uint64_t flags, void* context) {
    return inserted(
        prefix_of(av->ops), given, nodes * services, nullptr, [&](const fi_ops_av& real) {
          return real.insertsym(av, node, nodes, service, services, given, flags, context);
        });
  }
  static int remove(fid_av* av, fi_addr_t* given, std::size_t count, std::uint64_t flags) {
    const table_prefix& prefix = prefix_of(av->ops);
    auto& hook = *static_cast<address_vector*>(prefix.hook);
    const int result = original_of<fi_ops_av>(prefix).remove(av, given, count, flags);
    if (result == 0 && given != nullptr) {
      const control_lock lock(known_registry().mutex);
      for (std::size_t i = 0; i < count; ++i) hook.addresses->remove(given[i] & hook.mask);
    }
    return result;
  }

  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto& hook = *static_cast<address_vector*>(prefix.hook);
    const int result = original_of<fi_ops>(prefix).close(object);
    if (result != 0) return result;
    registry* all = &known_registry();
    {
      const control_lock lock(all->mutex);
      registry::unlink(all->vectors, &hook);
      for (endpoint* ep = all->endpoints; ep != nullptr; ep = ep->next) {
        if (ep->addresses == hook.addresses) ep->addresses = nullptr;
      }
      for (completion_queue* queue = all->queues; queue != nullptr; queue = queue->next) {
        if (queue->addresses == hook.addresses) queue->addresses = nullptr;
      }
      all->spare_maps.push_back(hook.addresses);
    }
    delete &hook;
    return 0;
  }
};

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
    });
    if (patched) return made;
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
    const fi_ep_type type =
        info != nullptr && info->ep_attr != nullptr ? info->ep_attr->type : FI_EP_UNSPEC;
    if (ep->fid.fclass != FI_CLASS_EP || (type != FI_EP_RDM && type != FI_EP_UNSPEC)) {
      count_left_alone("endpoint type not supported", type == FI_EP_MSG     ? "FI_EP_MSG"
                                                      : type == FI_EP_DGRAM ? "FI_EP_DGRAM"
                                                                            : "other");
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
    const auto original = real(object).scalable_ep;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    const control_scope depth;
    const int result = original(object, info, ep, context);
    if (result == 0 && ours) count_left_alone("endpoint type not supported", "fi_scalable_ep");
    return result;
  }
  static int srx_ctx(fid_domain* object, fi_rx_attr* attributes, fid_ep** ep, void* context) {
    const auto original = real(object).srx_ctx;
    const bool ours = FABSCOPE_DETAIL_FROM_APPLICATION(original);
    const control_scope depth;
    const int result = original(object, attributes, ep, context);
    if (result == 0 && ours) count_left_alone("shared receive context", "fi_srx_context");
    return result;
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
