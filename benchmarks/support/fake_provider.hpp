// SPDX-License-Identifier: Apache-2.0
// A libfabric provider that moves nothing, for benchmarks only: a send completes at once, and costs
// as little as a provider possibly can, so that what is measured around it stands out.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace bench {

/// Completions that were not read yet.
struct fake_queue {
  static constexpr std::uint64_t capacity = 64;
  struct done {
    void* context;
    std::size_t length;
  };

  fid_cq object{};
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  done entries[capacity] = {};

  fake_queue() {
    object.fid = {FI_CLASS_CQ, nullptr, &fid_table()};
    object.ops = &table();
  }
  fake_queue(const fake_queue&) = delete;
  fake_queue& operator=(const fake_queue&) = delete;

 private:
  static ssize_t read(fid_cq* cq, void* out, std::size_t count) {
    auto& self = *reinterpret_cast<fake_queue*>(cq);
    if (self.head == self.tail) return -FI_EAGAIN;
    auto* to = static_cast<fi_cq_tagged_entry*>(out);
    std::size_t n = 0;
    for (; n < count && self.head != self.tail; ++n, ++self.head) {
      const done& one = self.entries[self.head % capacity];
      to[n].op_context = one.context;
      to[n].flags = FI_TAGGED | FI_SEND;
      to[n].len = one.length;
    }
    return static_cast<ssize_t>(n);
  }
  static int close(fid*) { return 0; }
  static fi_ops& fid_table() {
    static fi_ops made = [] {
      fi_ops t{};
      t.size = sizeof t;
      t.close = close;
      return t;
    }();
    return made;
  }
  static fi_ops_cq& table() {
    static fi_ops_cq made = [] {
      fi_ops_cq t{};
      t.size = sizeof t;
      t.read = read;
      return t;
    }();
    return made;
  }
};

struct fake_endpoint {
  fid_ep object{};
  fake_queue* queue = nullptr;

  fake_endpoint() {
    object.fid = {FI_CLASS_EP, nullptr, &fid_table()};
    object.ops = &table();
    object.cm = &names();
    object.tagged = &tagged();
  }
  fake_endpoint(const fake_endpoint&) = delete;
  fake_endpoint& operator=(const fake_endpoint&) = delete;

 private:
  static ssize_t send(fid_ep* ep, const void*, std::size_t length, void*, fi_addr_t, std::uint64_t,
                      void* context) {
    fake_queue& to = *reinterpret_cast<fake_endpoint*>(ep)->queue;
    if (to.tail - to.head == fake_queue::capacity) return -FI_EAGAIN;
    to.entries[to.tail % fake_queue::capacity] = {context, length};
    ++to.tail;
    return 0;
  }
  static int bind(fid* object, fid* other, std::uint64_t) {
    if (other->fclass == FI_CLASS_CQ) {
      reinterpret_cast<fake_endpoint*>(object)->queue = reinterpret_cast<fake_queue*>(other);
    }
    return 0;
  }
  static int getname(fid*, void* address, std::size_t* size) {
    constexpr char name[] = "fake://0";
    std::memcpy(address, name, sizeof name);
    *size = sizeof name;
    return 0;
  }
  static int close(fid*) { return 0; }
  static fi_ops& fid_table() {
    static fi_ops made = [] {
      fi_ops t{};
      t.size = sizeof t;
      t.close = close;
      t.bind = bind;
      t.control = [](fid*, int, void*) { return 0; };
      return t;
    }();
    return made;
  }
  static fi_ops_ep& table() {
    static fi_ops_ep made = [] {
      fi_ops_ep t{};
      t.size = sizeof t;
      return t;
    }();
    return made;
  }
  static fi_ops_cm& names() {
    static fi_ops_cm made = [] {
      fi_ops_cm t{};
      t.size = sizeof t;
      t.getname = getname;
      return t;
    }();
    return made;
  }
  static fi_ops_tagged& tagged() {
    static fi_ops_tagged made = [] {
      fi_ops_tagged t{};
      t.size = sizeof t;
      t.send = send;
      return t;
    }();
    return made;
  }
};

/// Hands out fi_addr 0, 1, 2, ... named fake://1, fake://2, ...
struct fake_addresses {
  fid_av object{};
  fi_addr_t next = 0;

  fake_addresses() {
    object.fid = {FI_CLASS_AV, nullptr, &fid_table()};
    object.ops = &table();
  }
  fake_addresses(const fake_addresses&) = delete;
  fake_addresses& operator=(const fake_addresses&) = delete;

 private:
  static int insert(fid_av* av, const void*, std::size_t count, fi_addr_t* given, std::uint64_t,
                    void*) {
    auto& self = *reinterpret_cast<fake_addresses*>(av);
    for (std::size_t i = 0; i < count; ++i) given[i] = self.next++;
    return static_cast<int>(count);
  }
  static int lookup(fid_av*, fi_addr_t which, void* address, std::size_t* size) {
    const int length = std::snprintf(static_cast<char*>(address), *size, "fake://%lu", which + 1);
    *size = static_cast<std::size_t>(length) + 1;
    return 0;
  }
  static int close(fid*) { return 0; }
  static fi_ops& fid_table() {
    static fi_ops made = [] {
      fi_ops t{};
      t.size = sizeof t;
      t.close = close;
      return t;
    }();
    return made;
  }
  static fi_ops_av& table() {
    static fi_ops_av made = [] {
      fi_ops_av t{};
      t.size = sizeof t;
      t.insert = insert;
      t.lookup = lookup;
      return t;
    }();
    return made;
  }
};

}  // namespace bench
