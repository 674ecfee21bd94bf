// SPDX-License-Identifier: Apache-2.0
// The trampolines of an endpoint, and when its tables are patched. Layer: fabric.
//
// No trampoline is noexcept: a blocking call may be left by thread cancellation, which unwinds.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/counter_hooks.hpp>
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
  else if constexpr (std::same_as<Table, fi_ops_rma>)
    return ep->rma;
  else if constexpr (std::same_as<Table, fi_ops_atomic>)
    return ep->atomic;
  else
    return ep->collective;
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

/// A collective operation: counted, and passed through as it is.
template <collective_call Call, auto Member, class Policy,
          class Function = std::remove_cvref_t<decltype(std::declval<fi_ops_collective>().*Member)>>
struct collective_forwarder;
template <collective_call Call, auto Member, operation_policy Policy, class... Args>
struct collective_forwarder<Call, Member, Policy, ssize_t (*)(fid_ep*, Args...)> {
  static ssize_t call(fid_ep* ep, Args... args) {
    const table_prefix& prefix = prefix_of(ep->collective);
    const auto real = original_of<fi_ops_collective>(prefix).*Member;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return real(ep, args...);
    ssize_t result;
    {
      const inside<typename Policy::thread> depth(*thread);
      result = real(ep, args...);
    }
    if (result == 0) Policy::passed(*thread, *static_cast<endpoint*>(prefix.hook), Call);
    return result;
  }
};

/// How many of an endpoint's tables, from msg on, are there: a provider need not allocate the end
/// of fid_ep that the capabilities do not need.
inline std::uint8_t tables_of(std::uint64_t caps) noexcept {
  if (caps == 0) return 3;
  if ((caps & FI_COLLECTIVE) != 0) return 5;
  if ((caps & FI_ATOMIC) != 0) return 4;
  if ((caps & FI_TAGGED) != 0) return 3;
  return (caps & FI_RMA) != 0 ? 2 : 1;
}

template <operation_policy Policy>
struct endpoint_hooks {
  /// Hooks an endpoint that is not hooked yet. `info`: what it was opened with, null if unknown.
  /// Null if it is left alone: another copy of the library has it, or memory is missing.
  static endpoint* hook(fid_ep* ep, const fi_info* info, std::uint32_t nic, std::uint32_t format,
                        const endpoint* alias_of = nullptr) noexcept {
    std::uint64_t caps = 0;
    auto* made = new (std::nothrow) endpoint;
    if (made == nullptr) return nullptr;
    if (info != nullptr) {
      caps = info->caps;
      made->format = info->addr_format;
      set_flags(*made, info->tx_attr, info->rx_attr);
      if (info->rx_attr != nullptr) {
        made->directed_receive = ((caps | info->rx_attr->caps) & FI_DIRECTED_RECV) != 0;
      }
    }
    made->tables_there = ep->fid.fclass == FI_CLASS_SEP ? std::uint8_t{0} : tables_of(caps);
    if (alias_of != nullptr) {
      made->is_alias = true;
      made->alias_of = alias_of->number;
      made->tables_there = alias_of->tables_there;
    }
    if (made->format == FI_FORMAT_UNSPEC) made->format = format;
    if (info != nullptr && info->ep_attr != nullptr && info->ep_attr->type == FI_EP_MSG) {
      name_peer(*made, info->dest_addr, info->dest_addrlen);
    }
    return add(made, ep, nic, alias_of);
  }

  /// A transmit or receive context of a scalable endpoint, or a shared receive context. Its
  /// attributes, where they are given, go before those of the scalable endpoint.
  static endpoint* hook_context(fid_ep* ep, const endpoint* parent, const fi_tx_attr* tx,
                                const fi_rx_attr* rx, std::uint32_t nic,
                                std::uint32_t format) noexcept {
    auto* made = new (std::nothrow) endpoint;
    if (made == nullptr) return nullptr;
    if (parent != nullptr) {
      made->parent = parent;
      made->transmit.op_flags = parent->transmit.op_flags;
      made->receive.op_flags = parent->receive.op_flags;
      made->transmit.flags_known = parent->transmit.flags_known;
      made->receive.flags_known = parent->receive.flags_known;
      made->directed_receive = parent->directed_receive;
    }
    set_flags(*made, tx, rx);
    const std::uint64_t caps = tx != nullptr ? tx->caps : rx != nullptr ? rx->caps : 0;
    made->tables_there = tables_of(caps);
    made->format = format;
    return add(made, ep, nic, parent);
  }

  /// An event said that a connection is there.
  static void connected(const fid* object) noexcept {
    endpoint* hook = nullptr;
    {
      const control_lock lock(known_registry().mutex);
      hook = known_registry().endpoints;
      while (hook != nullptr && &hook->object->fid != object) hook = hook->next;
    }
    if (hook == nullptr) return;
    learn_address(*hook);
    learn_peer(*hook);
    refresh(*hook);
    Policy::connected(*hook);
  }

 private:
  static void set_flags(endpoint& made, const fi_tx_attr* tx, const fi_rx_attr* rx) noexcept {
    if (tx != nullptr) {
      made.transmit.op_flags = tx->op_flags;
      made.transmit.flags_known = true;
    }
    if (rx != nullptr) {
      made.receive.op_flags = rx->op_flags;
      made.receive.flags_known = true;
    }
  }

  static endpoint* add(endpoint* made, fid_ep* ep, std::uint32_t nic,
                       const endpoint* like) noexcept {
    registry* all = the_registry();
    if (all == nullptr) {
      delete made;
      return nullptr;
    }
    made->object = ep;
    made->nic = nic;
    {
      const control_lock lock(all->mutex);
      made->number = all->next_number++;
      if (nic == 0) made->nic = all->unknown_nic();
      if (like != nullptr) {
        made->local_name = like->local_name;
        made->addresses = like->addresses;
        made->address_mask = like->address_mask;
      }
      judge(*made);
      made->next = all->endpoints;
      all->endpoints = made;
    }
    Policy::opened(*made);
    if (!refresh(*made)) {
      forget(*made);
      unpatch_all(ep, made->tables_there);
      delete made;
      return nullptr;
    }
    return made;
  }
  static void unpatch_all(fid_ep* ep, std::uint8_t tables) noexcept {
    unpatch(ep->fid.ops);
    unpatch(ep->ops);
    unpatch(ep->cm);
    if (tables > 0) unpatch(ep->msg);
    if (tables > 1) unpatch(ep->rma);
    if (tables > 2) unpatch(ep->tagged);
    if (tables > 3) unpatch(ep->atomic);
    if (tables > 4) unpatch(ep->collective);
  }

 public:
  /// Patches what the provider put there since the last time.
  static bool refresh(endpoint& hook) noexcept {
    fid_ep* ep = hook.object;
    const std::uint8_t tables = hook.tables_there;
    return hook.tables.patch(ep->fid.ops, &hook, fill_fid) &&
           hook.tables.patch(ep->ops, &hook, fill_ep) &&
           hook.tables.patch(ep->cm, &hook, fill_cm) &&
           (tables < 1 ||
            hook.tables.patch(ep->msg, &hook, fill<fi_ops_msg, message_operations>)) &&
           (tables < 2 || hook.tables.patch(ep->rma, &hook, fill<fi_ops_rma, rma_operations>)) &&
           (tables < 3 ||
            hook.tables.patch(ep->tagged, &hook, fill<fi_ops_tagged, tagged_operations>)) &&
           (tables < 4 ||
            hook.tables.patch(ep->atomic, &hook, fill<fi_ops_atomic, atomic_operations>)) &&
           (tables < 5 || hook.tables.patch(ep->collective, &hook, fill_collective));
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
    replace(copy, &fi_ops_ep::tx_ctx, &tx_ctx);
    replace(copy, &fi_ops_ep::rx_ctx, &rx_ctx);
  }
  static void fill_cm(fi_ops_cm& copy) noexcept {
    replace(copy, &fi_ops_cm::connect, &connect);
    replace(copy, &fi_ops_cm::accept, &accept);
    replace(copy, &fi_ops_cm::join, &join);
  }
  template <collective_call Call, auto Member>
  static void fill_one(fi_ops_collective& copy) noexcept {
    replace(copy, Member, &collective_forwarder<Call, Member, Policy>::call);
  }
  static void fill_collective(fi_ops_collective& copy) noexcept {
    using call = collective_call;
    using table = fi_ops_collective;
    fill_one<call::barrier, &table::barrier>(copy);
    fill_one<call::barrier2, &table::barrier2>(copy);
    fill_one<call::broadcast, &table::broadcast>(copy);
    fill_one<call::alltoall, &table::alltoall>(copy);
    fill_one<call::allreduce, &table::allreduce>(copy);
    fill_one<call::allgather, &table::allgather>(copy);
    fill_one<call::reduce_scatter, &table::reduce_scatter>(copy);
    fill_one<call::reduce, &table::reduce>(copy);
    fill_one<call::scatter, &table::scatter>(copy);
    fill_one<call::gather, &table::gather>(copy);
    fill_one<call::message, &table::msg>(copy);
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
    {
      const control_lock lock(known_registry().mutex);
      for (endpoint* ep = known_registry().endpoints; ep != nullptr; ep = ep->next) {
        if (ep->parent == &hook) ep->parent = nullptr;
        if (ep->shared_receive == &hook) ep->shared_receive = nullptr;
      }
    }
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
        // Contexts use the address vector of their scalable endpoint.
        for (endpoint* ep = all->endpoints; ep != nullptr; ep = ep->next) {
          if (ep->parent != &hook) continue;
          ep->addresses = hook.addresses;
          ep->address_mask = hook.address_mask;
          share_addresses(*ep);
        }
      }
    } else if (other->fclass == FI_CLASS_CNTR) {
      bound_counter(*all, hook, other, flags);
    } else if (other->fclass == FI_CLASS_SRX_CTX) {
      // What is posted there completes in the queue of an endpoint that uses it.
      endpoint* shared = all->endpoints;
      while (shared != nullptr && &shared->object->fid != other) shared = shared->next;
      hook.shared_receive = shared;
    }
    judge(hook);
    if (hook.shared_receive != nullptr) share_queue(hook);
  }
  // Where receives of several endpoints are posted, each of their queues has to be one that gives
  // the contexts back.
  static void share_queue(const endpoint& hook) noexcept {
    endpoint_side& shared = hook.shared_receive->receive;
    if (!hook.receive.bound) return;
    const bool selective = shared.selective || hook.receive.selective;
    const bool usable = hook.receive.queue != nullptr && hook.receive.queue->entry_bytes != 0;
    if (!shared.bound || (shared.queue != nullptr && !usable)) shared.queue = hook.receive.queue;
    shared.bound = true;
    shared.selective = selective;
    judge(*hook.shared_receive);
  }
  static void bound_counter(const registry& all, endpoint& hook, const fid* other,
                            std::uint64_t flags) noexcept {
    counter* found = all.counters;
    while (found != nullptr && &found->object->fid != other) found = found->next;
    if (found == nullptr) return;
    // What peers do is counted among the own operations.
    if ((flags & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0) {
      relaxed_store(found->operations->in_order, 0U);
    }
    constexpr std::uint64_t kinds[] = {FI_SEND, FI_RECV, FI_READ, FI_WRITE};
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
      if ((flags & kinds[i]) != 0) hook.counters[i] = found;
    }
    hook.has_counters = true;
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
      unpatch_all(alias, hook.tables_there);
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
    std::vector<endpoint*> same{&hook};  // contexts have the address of their scalable endpoint
    {
      const control_lock lock(all->mutex);
      hook.local_name = all->text(address_text(hook.format, address, size));
      for (endpoint* ep = all->endpoints; ep != nullptr; ep = ep->next) {
        if (ep->parent != &hook) continue;
        ep->local_name = hook.local_name;
        same.push_back(ep);
      }
    }
    for (endpoint* ep : same) Policy::opened(*ep);
  }

  static void name_peer(endpoint& hook, const void* address, std::size_t size) noexcept {
    registry* all = the_registry();
    if (address == nullptr || all == nullptr) return;
    if (size == 0)
      size = hook.format == FI_SOCKADDR_IN6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const control_lock lock(all->mutex);
    hook.peer_name = all->text(address_text(hook.format, address, size));
  }
  static void learn_peer(endpoint& hook) noexcept {
    const fi_ops_cm* cm = hook.object->cm;
    if (!has_member(cm, &fi_ops_cm::getpeer)) return;
    alignas(8) unsigned char address[512] = {};
    std::size_t size = sizeof address;
    {
      const control_scope depth;
      if (cm->getpeer(hook.object, address, &size) != 0 || size > sizeof address) return;
    }
    name_peer(hook, address, size);
    Policy::opened(hook);
  }

  static int connect(fid_ep* ep, const void* address, const void* parameter, std::size_t size) {
    const table_prefix& prefix = prefix_of(ep->cm);
    auto& hook = *static_cast<endpoint*>(prefix.hook);
    Policy::connecting(hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops_cm>(prefix).connect(ep, address, parameter, size);
    }
    refresh(hook);  // the provider enables it
    return result;
  }
  static int accept(fid_ep* ep, const void* parameter, std::size_t size) {
    const table_prefix& prefix = prefix_of(ep->cm);
    auto& hook = *static_cast<endpoint*>(prefix.hook);
    Policy::connecting(hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops_cm>(prefix).accept(ep, parameter, size);
    }
    refresh(hook);
    return result;
  }
  static int join(fid_ep* ep, const void* address, std::uint64_t flags, fid_mc** group,
                  void* context) {
    const table_prefix& prefix = prefix_of(ep->cm);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops_cm>(prefix).join(ep, address, flags, group, context);
    }
    refresh(*static_cast<endpoint*>(prefix.hook));
    return result;
  }

  static int tx_ctx(fid_ep* ep, int index, fi_tx_attr* attributes, fid_ep** out, void* context) {
    const table_prefix& prefix = prefix_of(ep->ops);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops_ep>(prefix).tx_ctx(ep, index, attributes, out, context);
    }
    if (result == 0 && !Policy::nested() && control_depth == 0) {
      const auto& hook = *static_cast<endpoint*>(prefix.hook);
      hook_context(*out, &hook, attributes, nullptr, hook.nic, hook.format);
    }
    return result;
  }
  static int rx_ctx(fid_ep* ep, int index, fi_rx_attr* attributes, fid_ep** out, void* context) {
    const table_prefix& prefix = prefix_of(ep->ops);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops_ep>(prefix).rx_ctx(ep, index, attributes, out, context);
    }
    if (result == 0 && !Policy::nested() && control_depth == 0) {
      const auto& hook = *static_cast<endpoint*>(prefix.hook);
      hook_context(*out, &hook, nullptr, attributes, hook.nic, hook.format);
    }
    return result;
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
