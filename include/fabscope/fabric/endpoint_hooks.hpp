// SPDX-License-Identifier: Apache-2.0
// The trampolines of an endpoint, and when its tables are patched. Layer: fabric.
//
// No trampoline is noexcept: a blocking call may be left by thread cancellation, which unwinds.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/queue_hooks.hpp>
#include <fabscope/fabric/registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

template <class Table>
FABSCOPE_ALWAYS_INLINE Table* table_in(fid_ep* ep) noexcept {
  if constexpr (std::same_as<Table, fi_ops_msg>)
    return ep->msg;
  else if constexpr (std::same_as<Table, fi_ops_tagged>)
    return ep->tagged;
  else
    return ep->rma;
}

/// The one definition of every data-transfer call.
template <class Tag, class Policy, class Function = typename Tag::function_type>
struct forwarder;
template <class Tag, operation_policy Policy, class... Args>
struct forwarder<Tag, Policy, ssize_t (*)(fid_ep*, Args...)> {
  __attribute__((flatten)) static ssize_t call(fid_ep* ep, Args... args) {
    using table_type = typename Tag::table_type;
    const table_prefix& prefix = prefix_of(table_in<table_type>(ep));
    const auto real = original_of<table_type>(prefix).*Tag::member;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return real(ep, args...);
    endpoint& hook = *static_cast<endpoint*>(prefix.hook);
    request call;
    call.op = Tag::op;
    Tag::shape::describe(call, args...);
    const typename Policy::attempt attempt = Policy::issue(*thread, hook, call);
    ssize_t result;
    {
      const inside<typename Policy::thread> depth(*thread);
      result = Tag::shape::call(real, ep, call.context, args...);
    }
    Policy::issued(*thread, hook, call, attempt, result);
    return result;
  }
};

template <operation_policy Policy>
struct endpoint_hooks {
  /// Hooks an endpoint that is not hooked yet. `info`: what it was opened with, null if unknown.
  /// Null if it is left alone: another copy of the library has it, or memory is missing.
  static endpoint* hook(fid_ep* ep, const fi_info* info, std::uint32_t nic, std::uint32_t format,
                        const endpoint* alias_of = nullptr) noexcept {
    registry* all = the_registry();
    if (all == nullptr) return nullptr;
    auto* made = new (std::nothrow) endpoint;
    if (made == nullptr) return nullptr;
    made->object = ep;
    made->nic = nic;
    made->format =
        info != nullptr && info->addr_format != FI_FORMAT_UNSPEC ? info->addr_format : format;
    if (info != nullptr) {
      std::uint64_t caps = info->caps;
      if (info->tx_attr != nullptr) made->transmit.op_flags = info->tx_attr->op_flags;
      if (info->rx_attr != nullptr) {
        made->receive.op_flags = info->rx_attr->op_flags;
        caps |= info->rx_attr->caps;
      }
      made->transmit.flags_known = made->receive.flags_known = true;
      made->directed_receive = (caps & FI_DIRECTED_RECV) != 0;
    }
    {
      const control_lock lock(all->mutex);
      made->number = all->next_number++;
      if (nic == 0) made->nic = all->unknown_nic();
      if (alias_of != nullptr) {
        made->is_alias = true;
        made->alias_of = alias_of->number;
        made->local_name = alias_of->local_name;
        made->addresses = alias_of->addresses;
        made->address_mask = alias_of->address_mask;
      }
      judge(*made);
      made->next = all->endpoints;
      all->endpoints = made;
    }
    Policy::opened(*made);
    if (!refresh(*made)) {
      forget(*made);
      unpatch(ep->fid.ops);
      unpatch(ep->ops);
      unpatch(ep->msg);
      unpatch(ep->tagged);
      unpatch(ep->rma);
      delete made;
      return nullptr;
    }
    return made;
  }

  /// Patches what the provider put there since the last time.
  static bool refresh(endpoint& hook) noexcept {
    fid_ep* ep = hook.object;
    return hook.tables.patch(ep->fid.ops, &hook, fill_fid) &&
           hook.tables.patch(ep->ops, &hook, fill_ep) &&
           hook.tables.patch(ep->msg, &hook, fill<fi_ops_msg, message_operations>) &&
           hook.tables.patch(ep->tagged, &hook, fill<fi_ops_tagged, tagged_operations>) &&
           hook.tables.patch(ep->rma, &hook, fill<fi_ops_rma, rma_operations>);
  }

  static endpoint& of(fid* object) noexcept {
    return *static_cast<endpoint*>(prefix_of(object->ops).hook);
  }

 private:
  template <class Table, class List>
  static void fill(Table& copy) noexcept {
    fill_each(copy, static_cast<List*>(nullptr));
  }
  template <class Table, class... Tags>
  static void fill_each(Table& copy, operation_list<Tags...>*) noexcept {
    (replace(copy, Tags::member, &forwarder<Tags, Policy>::call), ...);
  }
  static void fill_fid(fi_ops& copy) noexcept {
    replace(copy, &fi_ops::close, &close);
    replace(copy, &fi_ops::bind, &bind);
    replace(copy, &fi_ops::control, &control);
    replace(copy, &fi_ops::ops_set, &ops_set);
  }
  static void fill_ep(fi_ops_ep& copy) noexcept {
    replace(copy, &fi_ops_ep::cancel, &cancel);
    replace(copy, &fi_ops_ep::setopt, &setopt);
  }

  static const fi_ops& real(fid* object) noexcept {
    return original_of<fi_ops>(prefix_of(object->ops));
  }
  static const table_prefix& ep_prefix(fid* object) noexcept {
    return prefix_of(reinterpret_cast<fid_ep*>(object)->ops);
  }

  static void forget(const endpoint& hook) noexcept {
    registry* all = &known_registry();
    const control_lock lock(all->mutex);
    registry::unlink(all->endpoints, &hook);
  }

  static int close(fid* object) {
    endpoint& hook = of(object);
    const auto original = real(object).close;
    int result;
    {
      const control_scope depth;
      result = original(object);
    }
    if (result != 0) return result;  // for example -FI_EBUSY: the object lives on, patched
    Policy::closed(hook);
    forget(hook);
    delete &hook;
    return 0;
  }

  static int bind(fid* object, fid* other, std::uint64_t flags) {
    endpoint& hook = of(object);
    int result;
    {
      const control_scope depth;
      result = real(object).bind(object, other, flags);
    }
    refresh(hook);
    if (result == 0 && other != nullptr) bound(hook, other, flags);
    return result;
  }

  static void bound(endpoint& hook, fid* other, std::uint64_t flags) noexcept {
    registry* all = &known_registry();
    const control_lock lock(all->mutex);
    if (other->fclass == FI_CLASS_CQ) {
      completion_queue* queue = all->queues;
      while (queue != nullptr && &queue->object->fid != other) queue = queue->next;
      const bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
      if ((flags & FI_TRANSMIT) != 0) attach(hook.transmit, queue, selective);
      if ((flags & FI_RECV) != 0) attach(hook.receive, queue, selective);
      if (queue != nullptr) {
        queue_hooks<Policy>::refresh(*queue);
        if (queue->nic == 0) queue->nic = hook.nic;
        share_addresses(hook);
      }
    } else if (other->fclass == FI_CLASS_AV) {
      address_vector* vector = all->vectors;
      while (vector != nullptr && &vector->object->fid != other) vector = vector->next;
      if (vector != nullptr) {
        hook.addresses = vector->addresses;
        hook.address_mask = vector->mask;
        share_addresses(hook);
      }
    }
    judge(hook);
  }
  static void attach(endpoint_side& side, completion_queue* queue, bool selective) noexcept {
    side.queue = queue;
    side.bound = true;
    side.selective = selective;
  }
  // So that the source of a receive can be named. All endpoints of a queue use one address vector.
  static void share_addresses(endpoint& hook) noexcept {
    if (hook.receive.queue == nullptr || hook.addresses == nullptr) return;
    hook.receive.queue->addresses = const_cast<address_map*>(hook.addresses);
  }

  static int control(fid* object, int command, void* argument) {
    endpoint& hook = of(object);
    int result;
    {
      const control_scope depth;
      result = real(object).control(object, command, argument);
    }
    refresh(hook);
    if (result != 0) return result;
    if (command == FI_ENABLE) learn_address(hook);
    if (command == FI_ALIAS && argument != nullptr) {
      fid* alias = *static_cast<struct fi_alias*>(argument)->fid;
      if (alias != nullptr && alias->fclass == FI_CLASS_EP) {
        hook_alias(hook, reinterpret_cast<fid_ep*>(alias));
      }
    }
    if (command == FI_SETOPSFLAG && argument != nullptr) {
      const std::uint64_t flags = *static_cast<const std::uint64_t*>(argument);
      if ((flags & FI_TRANSMIT) != 0) set_flags(hook.transmit, flags);
      if ((flags & FI_RECV) != 0) set_flags(hook.receive, flags);
      judge(hook);
    }
    return result;
  }
  static void set_flags(endpoint_side& side, std::uint64_t flags) noexcept {
    side.op_flags = flags;
    side.flags_known = true;
  }
  // A provider makes an alias by copying the endpoint, with our tables in it.
  static void hook_alias(const endpoint& hook, fid_ep* alias) noexcept {
    if (endpoint_hooks::hook(alias, nullptr, hook.nic, hook.format, &hook) == nullptr) {
      unpatch(alias->fid.ops);
      unpatch(alias->ops);
      unpatch(alias->msg);
      unpatch(alias->tagged);
      unpatch(alias->rma);
    }
  }

  static void learn_address(endpoint& hook) noexcept {
    const fi_ops_cm* cm = hook.object->cm;
    if (hook.local_name != 0 || !has_member(cm, &fi_ops_cm::getname)) return;
    alignas(8) unsigned char address[512] = {};
    std::size_t size = sizeof address;
    {
      const control_scope depth;
      if (cm->getname(&hook.object->fid, address, &size) != 0 || size > sizeof address) return;
    }
    registry* all = &known_registry();
    {
      const control_lock lock(all->mutex);
      hook.local_name = all->text(address_text(hook.format, address, size));
    }
    Policy::opened(hook);
  }

  static int ops_set(fid* object, const char* name, std::uint64_t flags, void* ops, void* context) {
    endpoint& hook = of(object);
    const int result = real(object).ops_set(object, name, flags, ops, context);
    refresh(hook);
    return result;
  }

  static int setopt(fid* object, int level, int name, const void* value, std::size_t size) {
    const table_prefix& prefix = ep_prefix(object);
    const int result = original_of<fi_ops_ep>(prefix).setopt(object, level, name, value, size);
    refresh(*static_cast<endpoint*>(prefix.hook));
    return result;
  }

  static ssize_t cancel(fid* object, void* context) {
    const table_prefix& prefix = ep_prefix(object);
    const auto original = original_of<fi_ops_ep>(prefix).cancel;
    if (Policy::nested()) return original(object, context);
    return Policy::cancel(*static_cast<endpoint*>(prefix.hook), context, [&](void* theirs) {
      const control_scope depth;
      return original(object, theirs);
    });
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
