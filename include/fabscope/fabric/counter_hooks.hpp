// SPDX-License-Identifier: Apache-2.0
// The trampolines of a counter. Layer: fabric.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <new>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/counted_operations.hpp>
#include <fabscope/fabric/registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

template <operation_policy Policy>
struct counter_hooks {
  static counter* hook(fid_cntr* object, std::uint32_t nic, bool counts_bytes) noexcept {
    registry* all = the_registry();
    if (all == nullptr) return nullptr;
    auto* made = new (std::nothrow) counter;
    auto* operations = new (std::nothrow) counted_operations;
    if (made == nullptr || operations == nullptr) {
      delete made;
      delete operations;
      return nullptr;
    }
    made->object = object;
    made->operations = operations;
    operations->in_order = counts_bytes ? 0 : 1;
    made->polls.is_counter = true;
    made->polls.nic = nic;
    const control_lock lock(all->mutex);
    made->polls.number = all->next_number++;
    if (!made->tables.patch(object->fid.ops, made,
                            [](fi_ops& copy) noexcept { replace(copy, &fi_ops::close, &close); }) ||
        !made->tables.patch(object->ops, made, fill)) {
      unpatch(object->fid.ops);
      unpatch(object->ops);
      delete operations;
      delete made;
      return nullptr;
    }
    made->next = all->counters;
    all->counters = made;
    return made;
  }

 private:
  static void fill(fi_ops_cntr& copy) noexcept {
    replace(copy, &fi_ops_cntr::read, &read);
    replace(copy, &fi_ops_cntr::readerr, &readerr);
    replace(copy, &fi_ops_cntr::add, &add);
    replace(copy, &fi_ops_cntr::set, &set);
    replace(copy, &fi_ops_cntr::wait, &wait);
  }

  static std::uint64_t read(fid_cntr* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    const auto real = original_of<fi_ops_cntr>(prefix).read;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return real(object);
    std::uint64_t value;
    {
      const inside<typename Policy::thread> depth(*thread);
      value = real(object);
    }
    Policy::counted(*thread, *static_cast<counter*>(prefix.hook), value, 0);
    return value;
  }

  // How many failed. The successes are not asked for here: that is another call.
  static std::uint64_t readerr(fid_cntr* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    const auto real = original_of<fi_ops_cntr>(prefix).readerr;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return real(object);
    const inside<typename Policy::thread> depth(*thread);
    return real(object);
  }

  static int wait(fid_cntr* object, std::uint64_t threshold, int timeout) {
    const table_prefix& prefix = prefix_of(object->ops);
    const auto real = original_of<fi_ops_cntr>(prefix).wait;
    typename Policy::thread* const thread = Policy::enter();
    if (thread == nullptr) return real(object, threshold, timeout);
    const std::uint64_t begin = Policy::wait_begins(*thread);
    int result;
    {
      const inside<typename Policy::thread> depth(*thread);
      result = real(object, threshold, timeout);
    }
    auto& hook = *static_cast<counter*>(prefix.hook);
    // It has reached the threshold, and may be beyond.
    const std::uint64_t known =
        relaxed_load(hook.operations->base) + relaxed_load(hook.operations->concluded);
    Policy::counted(*thread, hook, result == 0 ? threshold : known, begin);
    return result;
  }

  static int add(fid_cntr* object, std::uint64_t value) {
    const table_prefix& prefix = prefix_of(object->ops);
    const int result = original_of<fi_ops_cntr>(prefix).add(object, value);
    auto& hook = *static_cast<counter*>(prefix.hook);
    if (result == 0 && !Policy::nested()) {
      __atomic_fetch_add(&hook.operations->base, value, __ATOMIC_RELAXED);
    }
    return result;
  }

  static int set(fid_cntr* object, std::uint64_t value) {
    const table_prefix& prefix = prefix_of(object->ops);
    const int result = original_of<fi_ops_cntr>(prefix).set(object, value);
    counted_operations& of = *static_cast<counter*>(prefix.hook)->operations;
    if (result == 0 && !Policy::nested()) {
      // With operations in flight nobody knows which of them the new value will count.
      if (relaxed_load(of.concluded) != relaxed_load(of.issued)) relaxed_store(of.in_order, 0U);
      relaxed_store(of.base, value - relaxed_load(of.issued));
    }
    return result;
  }

  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto& hook = *static_cast<counter*>(prefix.hook);
    int result;
    {
      const control_scope depth;
      result = original_of<fi_ops>(prefix).close(object);
    }
    if (result != 0) return result;
    Policy::closed(hook);
    registry* all = &known_registry();
    {
      const control_lock lock(all->mutex);
      registry::unlink(all->counters, &hook);
      for (endpoint* ep = all->endpoints; ep != nullptr; ep = ep->next) {
        for (counter*& bound : ep->counters) {
          if (bound == &hook) bound = nullptr;
        }
      }
    }
    delete hook.operations;
    delete &hook;
    return 0;
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
