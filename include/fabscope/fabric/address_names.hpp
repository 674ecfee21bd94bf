// SPDX-License-Identifier: Apache-2.0
// Texts of fabric addresses, and which text belongs to which fi_addr of an address vector.
// Layer: fabric.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// A raw address as people write it: "10.0.0.1:7471", "[fe80::1]:7471", the text of FI_ADDR_STR,
/// "fi_addr_cxi://0x01ad0407" as that provider prints it, else its bytes in hexadecimal.
inline std::string address_text(std::uint32_t format, const void* address, std::size_t size) {
  char text[INET6_ADDRSTRLEN] = "";
  char out[INET6_ADDRSTRLEN + 16];
  sa_family_t family = AF_UNSPEC;
  if (format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6 ||
      format == FI_FORMAT_UNSPEC) {
    if (size >= sizeof family) std::memcpy(&family, address, sizeof family);
  }
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    std::snprintf(out, sizeof out, "%s:%u", text, static_cast<unsigned>(ntohs(in.sin_port)));
    return out;
  }
  if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    std::snprintf(out, sizeof out, "[%s]:%u", text, static_cast<unsigned>(ntohs(in.sin6_port)));
    return out;
  }
  if (format == FI_ADDR_STR) {
    const auto* begin = static_cast<const char*>(address);
    return std::string(begin, ::strnlen(begin, size));
  }
  if (format == FI_ADDR_CXI && size >= sizeof(std::uint32_t)) {
    std::uint32_t raw;
    std::memcpy(&raw, address, sizeof raw);
    std::snprintf(out, sizeof out, "fi_addr_cxi://0x%08x", raw);
    return out;
  }
  std::string hex = "0x";
  for (std::size_t i = 0; i < size && i < 64; ++i) {
    std::snprintf(out, sizeof out, "%02x", static_cast<const unsigned char*>(address)[i]);
    hex += out;
  }
  return hex;
}

/// Labels by fi_addr. Looked up on the hot path while the control path inserts. Zeroed memory is an
/// empty map.
/// Threads: label_of from any; the rest one at a time (the registry's lock).  Progress: wait-free.
/// Cost of a look-up: one load for fi_addrs that are indices; a hash table, one or two loads more,
/// for those that are pointers. An index takes 8 bytes, a pointer 32 to 64.
class address_map {
 public:
  static constexpr std::uint64_t none = FI_ADDR_UNSPEC;
  static constexpr std::uint64_t indices = std::uint64_t{1} << 20;
  struct entry {
    std::uint64_t address;  // none: free
    std::uint32_t label;
    std::uint32_t name;  // of the registry's texts, 0: removed
  };

  /// Never given back. Null if there are no addresses left.  Cost: 8 MiB of them; memory appears as
  /// indices are used.
  static address_map* make() noexcept {
    return static_cast<address_map*>(pages(sizeof(address_map)));
  }

  /// The label, 0 if it is unknown.
  [[nodiscard]] FABSCOPE_ALWAYS_INLINE std::uint32_t label_of(fi_addr_t address) const noexcept {
    if (address < indices) [[likely]]
      return relaxed_load(label_[address]);
    const body* all = __atomic_load_n(&body_, __ATOMIC_ACQUIRE);  // pairs with grow
    if (all == nullptr || address == none) return 0;
    for (std::uint64_t at = place(address);; ++at) {
      const entry& seen = all->entries[at & all->mask];
      const std::uint64_t key = acquire_load(seen.address);  // pairs with set
      if (key == address) return relaxed_load(seen.label);
      if (key == none) return 0;
    }
  }

  /// False if memory is missing.
  bool set(fi_addr_t address, std::uint32_t name, std::uint32_t label) noexcept {
    if (address < indices) {
      if (address >= index_end_) index_end_ = address + 1;
      name_[address] = name;
      relaxed_store(label_[address], label);
      return true;
    }
    if (address == none || (size_ * 2 >= capacity() && !grow())) return false;
    entry& at = find(*body_, address);
    if (at.address == none) ++size_;
    at.name = name;
    relaxed_store(at.label, label);
    release_store(at.address, address);
    return true;
  }
  void remove(fi_addr_t address) noexcept {
    if (address < indices) {
      name_[address] = 0;
      relaxed_store(label_[address], 0);
      return;
    }
    if (body_ == nullptr || address == none) return;
    entry& at = find(*body_, address);
    if (at.address == none) return;
    at.name = 0;
    relaxed_store(at.label, 0);
  }
  /// `label(name)` gives the labels of a new session.
  template <class Label>
  void relabel(Label&& label) noexcept {
    for (std::uint64_t i = 0; i < index_end_; ++i) {
      if (name_[i] != 0) relaxed_store(label_[i], label(name_[i]));
    }
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      entry& at = body_->entries[i];
      if (at.address != none && at.name != 0) relaxed_store(at.label, label(at.name));
    }
  }
  /// For the next address vector. A reader that comes too late finds nothing or an address of that
  /// one, and no freed memory.
  void clear() noexcept {
    for (std::uint64_t i = 0; i < index_end_; ++i) remove(i);
    index_end_ = 0;
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      relaxed_store(body_->entries[i].label, 0);
      release_store(body_->entries[i].address, none);
    }
    size_ = 0;
  }

 private:
  struct body {
    body* older;  // replaced ones stay, for readers that still look at them
    std::uint64_t mask;
    entry entries[1];
  };

  // Zeroed memory, null if there is none.
  static void* pages(std::size_t bytes) noexcept {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  static std::uint64_t place(std::uint64_t address) noexcept {
    return address * 0x9E3779B97F4A7C15U >> 32;
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    return body_ == nullptr ? 0 : body_->mask + 1;
  }
  static entry& find(body& all, std::uint64_t address) noexcept {
    for (std::uint64_t at = place(address);; ++at) {
      entry& seen = all.entries[at & all.mask];
      if (seen.address == address || seen.address == none) return seen;
    }
  }
  bool grow() noexcept {
    const std::uint64_t count = body_ == nullptr ? 256 : capacity() * 2;
    auto* more = static_cast<body*>(pages(sizeof(body) + count * sizeof(entry)));
    if (more == nullptr) return false;
    more->older = body_;
    more->mask = count - 1;
    for (std::uint64_t i = 0; i < count; ++i) more->entries[i] = {none, 0, 0};
    for (std::uint64_t i = 0; i < capacity(); ++i) {
      const entry& old = body_->entries[i];
      if (old.address != none) find(*more, old.address) = old;
    }
    __atomic_store_n(&body_, more, __ATOMIC_RELEASE);
    return true;
  }

  body* body_;
  std::uint64_t size_;
  std::uint64_t index_end_;  // behind the largest index so far
  std::uint32_t label_[indices];
  std::uint32_t name_[indices];  // as in an entry
};
static_assert(std::is_trivially_default_constructible_v<address_map>);

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END
