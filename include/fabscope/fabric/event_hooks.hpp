// SPDX-License-Identifier: Apache-2.0
// The trampolines of an event queue: connections that were made, addresses that were inserted.
// Layer: fabric.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/endpoint_hooks.hpp>
#include <fabscope/fabric/registry.hpp>
#include <fabscope/fabric/vector_hooks.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

template <operation_policy Policy>
struct event_hooks {
  static bool hook(fid_eq* object) noexcept {
    registry* all = the_registry();
    auto* made = new (std::nothrow) event_queue;
    if (all == nullptr || made == nullptr) {
      delete made;
      return false;
    }
    const bool patched = made->tables.patch(object->fid.ops, made, [](fi_ops& copy) noexcept {
      replace(copy, &fi_ops::close, &close);
    }) && made->tables.patch(object->ops, made, [](fi_ops_eq& copy) noexcept {
      replace(copy, &fi_ops_eq::read, &read);
      replace(copy, &fi_ops_eq::sread, &sread);
    });
    if (!patched) {
      unpatch(object->fid.ops);
      unpatch(object->ops);
      delete made;
      return false;
    }
    const control_lock lock(all->mutex);
    ++all->event_queues;
    return true;
  }

 private:
  struct event_queue {
    table_set tables;
  };

  static ssize_t read(fid_eq* eq, std::uint32_t* event, void* buffer, std::size_t size,
                      std::uint64_t flags) {
    ssize_t result;
    {
      const control_scope depth;
      result = original_of<fi_ops_eq>(prefix_of(eq->ops)).read(eq, event, buffer, size, flags);
    }
    if (result > 0 && (flags & FI_PEEK) == 0) seen(*event, buffer, result);
    return result;
  }
  static ssize_t sread(fid_eq* eq, std::uint32_t* event, void* buffer, std::size_t size,
                       int timeout, std::uint64_t flags) {
    ssize_t result;
    {
      const control_scope depth;
      result =
          original_of<fi_ops_eq>(prefix_of(eq->ops)).sread(eq, event, buffer, size, timeout, flags);
    }
    if (result > 0 && (flags & FI_PEEK) == 0) seen(*event, buffer, result);
    return result;
  }

  static void seen(std::uint32_t event, const void* buffer, ssize_t size) noexcept {
    if (control_depth != 0 || Policy::nested()) return;
    if (event == FI_CONNECTED && size >= static_cast<ssize_t>(sizeof(fid_t))) {
      fid_t object;
      std::memcpy(&object, buffer, sizeof object);
      endpoint_hooks<Policy>::connected(object);
    } else if (event == FI_AV_COMPLETE && size >= static_cast<ssize_t>(sizeof(fi_eq_entry))) {
      fi_eq_entry entry;
      std::memcpy(&entry, buffer, sizeof entry);
      vector_hooks<Policy>::completed(entry.fid, entry.context);
    }
  }

  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto* hook = static_cast<event_queue*>(prefix.hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops>(prefix).close(object);
    }
    if (result != 0) return result;
    {
      const control_lock lock(known_registry().mutex);
      --known_registry().event_queues;
    }
    delete hook;
    return 0;
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
