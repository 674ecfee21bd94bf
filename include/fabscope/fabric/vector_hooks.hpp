// SPDX-License-Identifier: Apache-2.0
// The trampolines of an address vector: which fi_addr stands for which address. Layer: fabric.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

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

  /// An event said that an asynchronous insertion is complete.
  static void completed(const fid* object, const void* context) noexcept {
    address_vector* hook;
    pending_insertion* done = nullptr;
    {
      const control_lock lock(known_registry().mutex);
      hook = known_registry().vectors;
      while (hook != nullptr && &hook->object->fid != object) hook = hook->next;
      if (hook != nullptr) done = take(*hook, context);
    }
    if (done == nullptr) return;
    const table_prefix& prefix = prefix_of(hook->object->ops);
    const std::uint64_t first = hook->inserted;
    if (done->given != nullptr || hook->is_table) {
      learn(prefix, done->given, done->count, first, nullptr);
    }
    hook->inserted += done->count;
    delete done;
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

  // An asynchronous insertion gives its addresses until the event was read: then `completed`.
  static void wait_for(address_vector& hook, fi_addr_t* given, std::size_t count,
                       const void* context) noexcept {
    const control_lock lock(known_registry().mutex);
    auto* made =
        known_registry().event_queues == 0 ? nullptr : new (std::nothrow) pending_insertion;
    if (made == nullptr) {
      known_registry().tally("addresses of an asynchronous insertion", "fi_av_insert");
      return;
    }
    *made = {nullptr, given, count, context};
    pending_insertion** last = &hook.pending;
    while (*last != nullptr) last = &(*last)->next;
    *last = made;
  }

  template <class Real>
  static int inserted(const table_prefix& prefix, fi_addr_t* given, std::size_t count,
                      const void* addresses, const void* context, Real&& real) {
    auto& hook = *static_cast<address_vector*>(prefix.hook);
    // Before the call: the event may be read by another thread before it returns.
    if (hook.is_asynchronous) wait_for(hook, given, count, context);
    int result;
    {
      const control_scope depth;
      result = real(original_of<fi_ops_av>(prefix));
    }
    if (hook.is_asynchronous) {
      if (result < 0) drop_newest(hook, context);
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

  static pending_insertion* take(address_vector& hook, const void* context) noexcept {
    for (pending_insertion** at = &hook.pending; *at != nullptr; at = &(*at)->next) {
      pending_insertion* found = *at;
      if (found->context != context) continue;
      *at = found->next;
      return found;
    }
    return nullptr;
  }
  static void drop_newest(address_vector& hook, const void* context) noexcept {
    const control_lock lock(known_registry().mutex);
    pending_insertion** newest = nullptr;
    for (pending_insertion** at = &hook.pending; *at != nullptr; at = &(*at)->next) {
      if ((*at)->context == context) newest = at;
    }
    if (newest == nullptr) return;
    pending_insertion* gone = *newest;
    *newest = gone->next;
    delete gone;
  }

  static int insert(fid_av* av, const void* address, std::size_t count, fi_addr_t* given,
                    std::uint64_t flags, void* context) {
    return inserted(prefix_of(av->ops), given, count, address, context, [&](const fi_ops_av& real) {
      return real.insert(av, address, count, given, flags, context);
    });
  }
  static int insertsvc(fid_av* av, const char* node, const char* service, fi_addr_t* given,
                       std::uint64_t flags, void* context) {
    return inserted(prefix_of(av->ops), given, 1, nullptr, context, [&](const fi_ops_av& real) {
      return real.insertsvc(av, node, service, given, flags, context);
    });
  }
  static int insertsym(fid_av* av, const char* node, std::size_t nodes, const char* service,
                       std::size_t services, fi_addr_t* given, std::uint64_t flags, void* context) {
    return inserted(
        prefix_of(av->ops), given, nodes * services, nullptr, context, [&](const fi_ops_av& real) {
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
    while (hook.pending != nullptr) {
      pending_insertion* gone = hook.pending;
      hook.pending = gone->next;
      delete gone;
    }
    delete &hook;
    return 0;
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
