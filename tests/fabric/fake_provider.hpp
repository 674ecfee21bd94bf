// SPDX-License-Identifier: Apache-2.0
// A libfabric provider without a network: what a call was given is written down, and what the test
// puts into a queue is what a read returns. Its tables are shared statics, as in real providers.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace fake {

struct queue {
  fid_cq object{};
  fi_cq_format format = FI_CQ_FORMAT_TAGGED;
  std::deque<fi_cq_tagged_entry> entries;
  std::deque<fi_cq_err_entry> errors;
  std::vector<fi_addr_t> sources;
  bool busy = false;  // close answers -FI_EBUSY
  int reads = 0;
};

struct call {
  const char* name;
  void* context;
  std::uint64_t flags;
};

struct endpoint {
  fid_ep object{};
  std::vector<call> calls;
  ssize_t answer = 0;           // of the next data-transfer calls
  bool swap_at_enable = false;  // as cxi does
  bool busy = false;
  std::vector<void*> cancelled;
  ssize_t cancel_answer = 0;
  std::vector<void*> unknown_to_cancel;  // these get -FI_ENOENT
  fid_ep* alias = nullptr;
};

struct vector {
  fid_av object{};
  std::vector<std::vector<unsigned char>> addresses;
};

struct domain {
  fid_domain object{};
};

inline endpoint& of(fid_ep* ep) { return *reinterpret_cast<endpoint*>(ep); }
inline queue& of(fid_cq* cq) { return *reinterpret_cast<queue*>(cq); }

inline ssize_t note(fid_ep* ep, const char* name, void* context, std::uint64_t flags = 0) {
  if (of(ep).answer == 0) of(ep).calls.push_back({name, context, flags});
  return of(ep).answer;
}

// --- data transfer -------------------------------------------------------------------------------
inline fi_ops_msg msg_table(const char* tag) {
  (void)tag;
  fi_ops_msg t{};
  t.size = sizeof t;
  t.send = [](fid_ep* ep, const void*, size_t, void*, fi_addr_t, void* c) {
    return note(ep, "send", c);
  };
  t.sendv = [](fid_ep* ep, const iovec*, void**, size_t, fi_addr_t, void* c) {
    return note(ep, "sendv", c);
  };
  t.sendmsg = [](fid_ep* ep, const fi_msg* m, uint64_t f) {
    return note(ep, "sendmsg", m->context, f);
  };
  t.senddata = [](fid_ep* ep, const void*, size_t, void*, uint64_t, fi_addr_t, void* c) {
    return note(ep, "senddata", c);
  };
  t.inject = [](fid_ep* ep, const void*, size_t, fi_addr_t) { return note(ep, "inject", nullptr); };
  t.recv = [](fid_ep* ep, void*, size_t, void*, fi_addr_t, void* c) { return note(ep, "recv", c); };
  t.recvv = [](fid_ep* ep, const iovec*, void**, size_t, fi_addr_t, void* c) {
    return note(ep, "recvv", c);
  };
  t.recvmsg = [](fid_ep* ep, const fi_msg* m, uint64_t f) {
    return note(ep, "recvmsg", m->context, f);
  };
  return t;  // injectdata stays null: not every provider fills everything
}
inline fi_ops_msg first_msg = msg_table("open");
inline fi_ops_msg enabled_msg = msg_table("enable");

inline fi_ops_rma rma_table() {
  fi_ops_rma t{};
  t.size = sizeof t;
  t.read = [](fid_ep* ep, void*, size_t, void*, fi_addr_t, uint64_t, uint64_t, void* c) {
    return note(ep, "read", c);
  };
  t.write = [](fid_ep* ep, const void*, size_t, void*, fi_addr_t, uint64_t, uint64_t, void* c) {
    return note(ep, "write", c);
  };
  t.writemsg = [](fid_ep* ep, const fi_msg_rma* m, uint64_t f) {
    return note(ep, "writemsg", m->context, f);
  };
  return t;
}
inline fi_ops_rma rma = rma_table();

// A table from an older libfabric, longer than nothing and shorter than our headers say: it ends
// after sendmsg. What lies behind it must not be read or written.
struct short_msg {
  fi_ops_msg table = first_msg;
  short_msg() {
    table.size = offsetof(fi_ops_msg, inject);
    std::memset(reinterpret_cast<char*>(&table) + table.size, 0xee, sizeof table - table.size);
  }
};
// And one from a newer libfabric.
struct long_msg {
  fi_ops_msg table = first_msg;
  std::uint64_t tail[3] = {0x1111, 0x2222, 0x3333};
  long_msg() { table.size = sizeof(long_msg); }
};

// --- control -------------------------------------------------------------------------------------
inline fi_ops ep_fid_table() {
  fi_ops t{};
  t.size = sizeof t;
  t.close = [](fid* f) -> int { return reinterpret_cast<endpoint*>(f)->busy ? -FI_EBUSY : 0; };
  t.bind = [](fid*, fid*, uint64_t) -> int { return 0; };
  t.control = [](fid* f, int command, void* argument) -> int {
    endpoint& ep = *reinterpret_cast<endpoint*>(f);
    if (command == FI_ENABLE && ep.swap_at_enable) ep.object.msg = &enabled_msg;
    if (command == FI_ALIAS) {  // providers copy the whole endpoint
      *ep.alias = ep.object;
      *static_cast<struct fi_alias*>(argument)->fid = &ep.alias->fid;
    }
    return 0;
  };
  return t;
}
inline fi_ops ep_fid = ep_fid_table();
inline fi_ops_ep ep_ops_table() {
  fi_ops_ep t{};
  t.size = sizeof t;
  t.cancel = [](fid* f, void* context) -> ssize_t {
    endpoint& ep = *reinterpret_cast<endpoint*>(f);
    for (void* unknown : ep.unknown_to_cancel) {
      if (unknown == context) return -FI_ENOENT;
    }
    ep.cancelled.push_back(context);
    return ep.cancel_answer;
  };
  t.setopt = [](fid*, int, int, const void*, size_t) -> int { return 0; };
  return t;
}
inline fi_ops_ep ep_ops = ep_ops_table();
inline fi_ops_cm cm_table() {
  fi_ops_cm t{};
  t.size = sizeof t;
  t.getname = [](fid*, void* address, size_t* size) -> int {
    static const char name[] = "me";
    std::memcpy(address, name, sizeof name);
    *size = sizeof name;
    return 0;
  };
  return t;
}
inline fi_ops_cm cm = cm_table();

// --- completion queues ---------------------------------------------------------------------------
inline ssize_t give(queue& cq, void* out, size_t count, fi_addr_t* sources) {
  static constexpr std::size_t bytes[] = {0, 8, 24, 40, 48};
  ++cq.reads;
  if (cq.entries.empty()) return cq.errors.empty() ? -FI_EAGAIN : -FI_EAVAIL;
  const std::size_t stride =
      cq.format == FI_CQ_FORMAT_UNSPEC ? 8 : bytes[static_cast<std::size_t>(cq.format)];
  std::size_t n = 0;
  for (; n < count && !cq.entries.empty(); ++n) {
    std::memcpy(static_cast<char*>(out) + n * stride, &cq.entries.front(), stride);
    if (sources != nullptr && n < cq.sources.size()) sources[n] = cq.sources[n];
    cq.entries.pop_front();
  }
  return static_cast<ssize_t>(n);
}
inline fi_ops_cq cq_table() {
  fi_ops_cq t{};
  t.size = sizeof t;
  // As libfabric's own queues do: read goes through the object's table once more.
  t.read = [](fid_cq* cq, void* out, size_t count) {
    return cq->ops->readfrom(cq, out, count, nullptr);
  };
  t.readfrom = [](fid_cq* cq, void* out, size_t count, fi_addr_t* from) {
    return give(of(cq), out, count, from);
  };
  t.sread = [](fid_cq* cq, void* out, size_t count, const void*, int) {
    return give(of(cq), out, count, nullptr);
  };
  t.sreadfrom = [](fid_cq* cq, void* out, size_t count, fi_addr_t* from, const void*, int) {
    return give(of(cq), out, count, from);
  };
  t.readerr = [](fid_cq* cq, fi_cq_err_entry* out, uint64_t) -> ssize_t {
    if (of(cq).errors.empty()) return -FI_EAGAIN;
    *out = of(cq).errors.front();
    of(cq).errors.pop_front();
    return 1;
  };
  return t;
}
inline fi_ops_cq cq_ops = cq_table();
inline fi_ops cq_fid_table() {
  fi_ops t{};
  t.size = sizeof t;
  t.close = [](fid* f) -> int { return reinterpret_cast<queue*>(f)->busy ? -FI_EBUSY : 0; };
  return t;
}
inline fi_ops cq_fid = cq_fid_table();

inline void open(queue& cq, fi_cq_format format = FI_CQ_FORMAT_TAGGED) {
  cq.format = format;
  cq.object.fid.fclass = FI_CLASS_CQ;
  cq.object.fid.ops = &cq_fid;
  cq.object.ops = &cq_ops;
}
inline void open(endpoint& ep) {
  ep.object.fid.fclass = FI_CLASS_EP;
  ep.object.fid.ops = &ep_fid;
  ep.object.ops = &ep_ops;
  ep.object.cm = &cm;
  ep.object.msg = &first_msg;
  ep.object.rma = &rma;
}

/// An fi_info with just what an endpoint is asked for.
struct info {
  fi_info object{};
  fi_tx_attr tx{};
  fi_rx_attr rx{};
  fi_ep_attr ep{};
  fi_domain_attr domain{};
  fi_fabric_attr fabric{};
  info() {
    object.addr_format = FI_ADDR_STR;
    object.tx_attr = &tx;
    object.rx_attr = &rx;
    object.ep_attr = &ep;
    object.domain_attr = &domain;
    object.fabric_attr = &fabric;
    ep.type = FI_EP_RDM;
    static char domain_name[] = "fake0";
    static char provider_name[] = "fake";
    domain.name = domain_name;
    fabric.prov_name = provider_name;
  }
};

}  // namespace fake
