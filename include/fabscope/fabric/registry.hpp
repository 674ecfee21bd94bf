// SPDX-License-Identifier: Apache-2.0
// All hooks, NICs and texts of this copy of the library: the control path's memory. Layer: fabric.
#pragma once

#include <pthread.h>
#include <rdma/fabric.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fabscope/fabric/address_names.hpp>
#include <fabscope/fabric/objects.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// A pthread mutex for the control path.
class control_lock {
 public:
  explicit control_lock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) {
    ::pthread_mutex_lock(&mutex_);
  }
  ~control_lock() { ::pthread_mutex_unlock(&mutex_); }
  control_lock(const control_lock&) = delete;
  control_lock& operator=(const control_lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

/// NICs beyond these share the last place.
inline constexpr std::uint32_t max_nics = 16;

struct nic_entry {
  std::string name;
  std::string device;
  std::uint64_t line_rate = 0;  ///< bits per second, 0: unknown
};

/// Something that was seen and left alone.
struct control_tally {
  const char* what;
  const char* subject;
  std::uint64_t count;
};

/// Created when the first object is hooked, never destroyed: hooks may be used until the process is
/// gone.  Threads: everything under `mutex`, except `tallies`, which any thread may read.
struct registry {
  static constexpr std::uint32_t max_tallies = 32;

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  endpoint* endpoints = nullptr;
  completion_queue* queues = nullptr;
  counter* counters = nullptr;
  std::uint64_t event_queues = 0;
  address_vector* vectors = nullptr;
  std::vector<address_map*> spare_maps;
  std::vector<nic_entry> nics;  // number n is entry n - 1
  std::vector<std::string> texts;
  std::unordered_map<std::string, std::uint32_t> text_numbers;
  std::uint32_t next_number = 1;
  control_tally tallies[max_tallies] = {};
  std::uint32_t tally_count = 0;

  std::uint32_t text(std::string_view of) {
    const std::string key(of);
    const auto known = text_numbers.find(key);
    if (known != text_numbers.end()) return known->second;
    texts.push_back(key);
    const auto number = static_cast<std::uint32_t>(texts.size());
    text_numbers.emplace(key, number);
    return number;
  }

  /// The NIC that an fi_info leads to: its device, else its domain. 0 if it says neither.
  std::uint32_t nic(const fi_info* info) {
    if (info == nullptr) return 0;
    nic_entry found;
    const fid_nic* card = info->nic;
    const char* domain = info->domain_attr != nullptr ? info->domain_attr->name : nullptr;
    const char* provider = info->fabric_attr != nullptr ? info->fabric_attr->prov_name : nullptr;
    if (card != nullptr && card->device_attr != nullptr && card->device_attr->name != nullptr) {
      found.name = card->device_attr->name;
    } else if (domain != nullptr) {
      found.name = domain;
    }
    if (found.name.empty()) return 0;
    found.device = std::string(provider == nullptr ? "" : provider) + ":" +
                   (domain == nullptr ? found.name.c_str() : domain);
    if (card != nullptr && card->link_attr != nullptr) found.line_rate = card->link_attr->speed;
    for (std::uint32_t i = 0; i < nics.size(); ++i) {
      if (nics[i].name == found.name && nics[i].device == found.device) return i + 1;
    }
    nics.push_back(found);
    return static_cast<std::uint32_t>(nics.size());
  }

  /// The place of objects of which nothing is known.
  std::uint32_t unknown_nic() {
    for (std::uint32_t i = 0; i < nics.size(); ++i) {
      if (nics[i].name == "unknown" && nics[i].device.empty()) return i + 1;
    }
    nics.push_back({"unknown", "", 0});
    return static_cast<std::uint32_t>(nics.size());
  }

  address_map* new_map() {
    if (!spare_maps.empty()) {
      address_map* map = spare_maps.back();
      spare_maps.pop_back();
      map->clear();
      return map;
    }
    return address_map::make();
  }

  /// `what` and `subject` are literals.
  void tally(const char* what, const char* subject) noexcept {
    for (std::uint32_t i = 0; i < tally_count; ++i) {
      if (std::strcmp(tallies[i].what, what) == 0 &&
          std::strcmp(tallies[i].subject, subject) == 0) {
        relaxed_add(tallies[i].count, 1);
        return;
      }
    }
    if (tally_count == max_tallies) return;
    tallies[tally_count] = {what, subject, 1};
    release_store(tally_count, tally_count + 1);
  }

  template <class Hook>
  static void unlink(Hook*& first, const Hook* gone) noexcept {
    for (Hook** at = &first; *at != nullptr; at = &(*at)->next) {
      if (*at == gone) {
        *at = gone->next;
        return;
      }
    }
  }
};

inline constinit registry* registry_pointer = nullptr;

/// The registry, created by the first caller. Null only if memory is missing.  Threads: any.
inline registry* the_registry() noexcept {
  registry* known = __atomic_load_n(&registry_pointer, __ATOMIC_ACQUIRE);
  if (known != nullptr) return known;
  auto* made = new (std::nothrow) registry;
  if (made == nullptr) return nullptr;
  if (__atomic_compare_exchange_n(&registry_pointer, &known, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    // In the child of a fork nobody is left to unlock what another thread had locked.
    ::pthread_atfork(nullptr, nullptr, [] {
      ::new (&registry_pointer->mutex) pthread_mutex_t PTHREAD_MUTEX_INITIALIZER;
    });
    return made;
  }
  delete made;
  return known;
}

/// The registry, where a hook exists and therefore it does.
inline registry& known_registry() noexcept { return *registry_pointer; }

inline void count_left_alone(const char* what, const char* subject) noexcept {
  registry* all = the_registry();
  if (all == nullptr) return;
  const control_lock lock(all->mutex);
  all->tally(what, subject);
}

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
