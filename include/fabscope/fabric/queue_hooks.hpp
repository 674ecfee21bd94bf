// SPDX-License-Identifier: Apache-2.0
// The trampolines of a completion queue: all five ways to read it. Layer: fabric.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <new>

#include <fabscope/fabric/caller.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/registry.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// Bytes of an entry, 0 if the format is not known.
constexpr std::uint32_t entry_bytes(fi_cq_format format) noexcept {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED: return sizeof(fi_cq_tagged_entry);
    case FI_CQ_FORMAT_UNSPEC: break;
  }
  return 0;
}

template <operation_policy Policy>
struct queue_hooks {
  static completion_queue* hook(fid_cq* object, fi_cq_format format, std::uint64_t capacity,
                                std::uint32_t nic, bool shared_between_providers) noexcept {
    registry* all = the_registry();
    if (all == nullptr) return nullptr;
    auto* made = new (std::nothrow) completion_queue;
    if (made == nullptr) return nullptr;
    made->object = object;
    made->format = format;
    made->entry_bytes = entry_bytes(format);
    made->has_length = made->entry_bytes >= sizeof(fi_cq_msg_entry);
    made->shared_between_providers = shared_between_providers;
    made->capacity = capacity;
    made->nic = nic;
    if (!refresh(*made)) {
      unpatch(object->fid.ops);
      unpatch(object->ops);
      delete made;
      return nullptr;
    }
    const control_lock lock(all->mutex);
    made->number = all->next_number++;
    made->next = all->queues;
    all->queues = made;
    return made;
  }

  static bool refresh(completion_queue& hook) noexcept {
    return hook.tables.patch(hook.object->fid.ops, &hook, [](fi_ops& copy) noexcept {
      replace(copy, &fi_ops::close, &close);
    }) && hook.tables.patch(hook.object->ops, &hook, fill);
  }

 private:
  static void fill(fi_ops_cq& copy) noexcept {
    replace(copy, &fi_ops_cq::read, &read);
    replace(copy, &fi_ops_cq::readfrom, &readfrom);
    replace(copy, &fi_ops_cq::readerr, &readerr);
    replace(copy, &fi_ops_cq::sread, &sread);
    replace(copy, &fi_ops_cq::sreadfrom, &sreadfrom);
  }

  /// `real` calls the provider. The provider may read through the table again: then nested() holds.
  template <class Real>
  FABSCOPE_ALWAYS_INLINE static ssize_t around(const table_prefix& prefix, poll result,
                                               Real&& real) {
    typename Policy::thread* const thread = Policy::enter();
    completion_queue& hook = *static_cast<completion_queue*>(prefix.hook);
    if (thread == nullptr) [[unlikely]] {
      const bool nested = Policy::nested();
      poll seen = result;  // a copy, so that `result` need not live in memory
      seen.count = real();
      if (seen.count > 0 && !nested) Policy::restore(hook, seen);
      return static_cast<ssize_t>(seen.count);
    }
    if (result.may_wait) result.wait_begin = Policy::wait_begins(*thread);
    {
      const inside<typename Policy::thread> depth(*thread);
      result.count = real();
    }
    Policy::polled(*thread, hook, result);
    return static_cast<ssize_t>(result.count);
  }

  __attribute__((flatten)) static ssize_t read(fid_cq* cq, void* entries, std::size_t count) {
    const table_prefix& prefix = prefix_of(cq->ops);
    return around(prefix, poll{entries},
                  [&] { return original_of<fi_ops_cq>(prefix).read(cq, entries, count); });
  }
  __attribute__((flatten)) static ssize_t readfrom(fid_cq* cq, void* entries, std::size_t count,
                                                   fi_addr_t* sources) {
    const table_prefix& prefix = prefix_of(cq->ops);
    return around(prefix, poll{entries, 0, sources}, [&] {
      return original_of<fi_ops_cq>(prefix).readfrom(cq, entries, count, sources);
    });
  }
  __attribute__((flatten)) static ssize_t readerr(fid_cq* cq, fi_cq_err_entry* entry,
                                                  std::uint64_t flags) {
    const table_prefix& prefix = prefix_of(cq->ops);
    poll result{entry};
    result.is_error = true;
    return around(prefix, result,
                  [&] { return original_of<fi_ops_cq>(prefix).readerr(cq, entry, flags); });
  }
  __attribute__((flatten)) static ssize_t sread(fid_cq* cq, void* entries, std::size_t count,
                                                const void* condition, int timeout) {
    const table_prefix& prefix = prefix_of(cq->ops);
    poll result{entries};
    result.may_wait = true;
    return around(prefix, result, [&] {
      return original_of<fi_ops_cq>(prefix).sread(cq, entries, count, condition, timeout);
    });
  }
  __attribute__((flatten)) static ssize_t sreadfrom(fid_cq* cq, void* entries, std::size_t count,
                                                    fi_addr_t* sources, const void* condition,
                                                    int timeout) {
    const table_prefix& prefix = prefix_of(cq->ops);
    poll result{entries, 0, sources};
    result.may_wait = true;
    return around(prefix, result, [&] {
      return original_of<fi_ops_cq>(prefix).sreadfrom(cq, entries, count, sources, condition,
                                                      timeout);
    });
  }

  static int close(fid* object) {
    const table_prefix& prefix = prefix_of(object->ops);
    auto& hook = *static_cast<completion_queue*>(prefix.hook);
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
      registry::unlink(all->queues, &hook);
      for (endpoint* ep = all->endpoints; ep != nullptr; ep = ep->next) {
        if (ep->transmit.queue == &hook) ep->transmit.queue = nullptr;
        if (ep->receive.queue == &hook) ep->receive.queue = nullptr;
        judge(*ep);
      }
    }
    delete &hook;
    return 0;
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
