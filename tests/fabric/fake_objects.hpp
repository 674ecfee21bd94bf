// SPDX-License-Identifier: Apache-2.0
// The rest of the provider without a network: atomics and collectives, counters, event queues,
// connections, scalable endpoints and shared receive contexts, domains and fabrics.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>

#include "fabric/fake_provider.hpp"

namespace fake {

inline fi_ops_atomic atomic_table() {
  fi_ops_atomic t{};
  t.size = sizeof t;
  t.write = [](fid_ep* ep, const void*, size_t, void*, fi_addr_t, uint64_t, uint64_t, fi_datatype,
               fi_op, void* c) { return note(ep, "atomic", c); };
  t.writev = [](fid_ep* ep, const fi_ioc*, void**, size_t, fi_addr_t, uint64_t, uint64_t,
                fi_datatype, fi_op, void* c) { return note(ep, "atomicv", c); };
  t.writemsg = [](fid_ep* ep, const fi_msg_atomic* m, uint64_t f) {
    return note(ep, "atomicmsg", m->context, f);
  };
  t.inject = [](fid_ep* ep, const void*, size_t, fi_addr_t, uint64_t, uint64_t, fi_datatype,
                fi_op) { return note(ep, "inject_atomic", nullptr); };
  t.readwrite = [](fid_ep* ep, const void*, size_t, void*, void*, void*, fi_addr_t, uint64_t,
                   uint64_t, fi_datatype, fi_op, void* c) { return note(ep, "fetch_atomic", c); };
  t.readwritev = [](fid_ep* ep, const fi_ioc*, void**, size_t, fi_ioc*, void**, size_t, fi_addr_t,
                    uint64_t, uint64_t, fi_datatype, fi_op,
                    void* c) { return note(ep, "fetch_atomicv", c); };
  t.readwritemsg = [](fid_ep* ep, const fi_msg_atomic* m, fi_ioc*, void**, size_t, uint64_t f) {
    return note(ep, "fetch_atomicmsg", m->context, f);
  };
  t.compwrite = [](fid_ep* ep, const void*, size_t, void*, const void*, void*, void*, void*,
                   fi_addr_t, uint64_t, uint64_t, fi_datatype, fi_op,
                   void* c) { return note(ep, "compare_atomic", c); };
  t.compwritev = [](fid_ep* ep, const fi_ioc*, void**, size_t, const fi_ioc*, void**, size_t,
                    fi_ioc*, void**, size_t, fi_addr_t, uint64_t, uint64_t, fi_datatype, fi_op,
                    void* c) { return note(ep, "compare_atomicv", c); };
  t.compwritemsg = [](fid_ep* ep, const fi_msg_atomic* m, const fi_ioc*, void**, size_t, fi_ioc*,
                      void**, size_t,
                      uint64_t f) { return note(ep, "compare_atomicmsg", m->context, f); };
  return t;
}
inline fi_ops_atomic atomics = atomic_table();

inline fi_ops_collective collective_table() {
  fi_ops_collective t{};
  t.size = offsetof(fi_ops_collective, barrier2);  // as in libfabrics before it had barrier2
  t.barrier = [](fid_ep* ep, fi_addr_t, void* c) { return note(ep, "barrier", c); };
  t.allreduce = [](fid_ep* ep, const void*, size_t, void*, void*, void*, fi_addr_t, fi_datatype,
                   fi_op, uint64_t f, void* c) { return note(ep, "allreduce", c, f); };
  return t;
}
inline fi_ops_collective collectives = collective_table();

// --- counters ------------------------------------------------------------------------------------
struct counter {
  fid_cntr object{};
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
};
inline counter& of(fid_cntr* cntr) { return *reinterpret_cast<counter*>(cntr); }
inline fi_ops_cntr cntr_table() {
  fi_ops_cntr t{};
  t.size = sizeof t;
  t.read = [](fid_cntr* c) { return of(c).value; };
  t.readerr = [](fid_cntr* c) { return of(c).errors; };
  t.add = [](fid_cntr* c, uint64_t n) -> int { return of(c).value += n, 0; };
  t.set = [](fid_cntr* c, uint64_t n) -> int { return of(c).value = n, 0; };
  t.wait = [](fid_cntr* c, uint64_t threshold, int) -> int {
    return c->ops->read(c) >= threshold ? 0 : -FI_ETIMEDOUT;  // through the table again
  };
  return t;
}
inline fi_ops_cntr cntr_ops = cntr_table();
inline fi_ops plain_fid_table() {
  fi_ops t{};
  t.size = sizeof t;
  t.close = [](fid*) -> int { return 0; };
  t.bind = [](fid*, fid*, uint64_t) -> int { return 0; };
  t.control = [](fid*, int, void*) -> int { return 0; };
  return t;
}
inline fi_ops plain_fid = plain_fid_table();

// --- connections ---------------------------------------------------------------------------------
inline fi_ops_cm connection_table() {
  fi_ops_cm t = cm;
  t.getpeer = [](fid_ep*, void* address, size_t* size) -> int {
    static const char name[] = "peer";
    std::memcpy(address, name, sizeof name);
    *size = sizeof name;
    return 0;
  };
  t.connect = [](fid_ep* ep, const void*, const void*, size_t) -> int {
    ep->msg = &enabled_msg;  // a connection enables the endpoint
    return 0;
  };
  t.accept = [](fid_ep* ep, const void*, size_t) -> int {
    ep->msg = &enabled_msg;
    return 0;
  };
  return t;
}
inline fi_ops_cm connection = connection_table();

struct event_queue {
  fid_eq object{};
  struct event {
    std::uint32_t number;
    std::vector<unsigned char> bytes;
  };
  std::deque<event> events;
};
inline fi_ops_eq eq_table() {
  fi_ops_eq t{};
  t.size = sizeof t;
  t.read = [](fid_eq* eq, uint32_t* number, void* out, size_t, uint64_t flags) -> ssize_t {
    auto& queue = *reinterpret_cast<event_queue*>(eq);
    if (queue.events.empty()) return -FI_EAGAIN;
    const event_queue::event first = queue.events.front();
    if ((flags & FI_PEEK) == 0) queue.events.pop_front();
    *number = first.number;
    std::memcpy(out, first.bytes.data(), first.bytes.size());
    return static_cast<ssize_t>(first.bytes.size());
  };
  t.sread = [](fid_eq* eq, uint32_t* number, void* out, size_t size, int, uint64_t flags) {
    return eq->ops->read(eq, number, out, size, flags);
  };
  return t;
}
inline fi_ops_eq eq_ops = eq_table();

// --- address vectors -----------------------------------------------------------------------------
inline fi_ops_av av_table() {
  fi_ops_av t{};
  t.size = offsetof(fi_ops_av, av_set);
  t.insert = [](fid_av*, const void*, size_t count, fi_addr_t* given, uint64_t, void*) -> int {
    for (size_t i = 0; given != nullptr && i < count; ++i) given[i] = 10 + i;
    return static_cast<int>(count);
  };
  t.remove = [](fid_av*, fi_addr_t*, size_t, uint64_t) -> int { return 0; };
  t.lookup = [](fid_av*, fi_addr_t at, void* address, size_t* size) -> int {
    const std::string name = "to" + std::to_string(at);
    std::memcpy(address, name.c_str(), name.size() + 1);
    *size = name.size() + 1;
    return 0;
  };
  return t;
}
inline fi_ops_av av_ops = av_table();

// --- domains and fabrics: what is opened is the object that the test has put there ---------------
struct world {
  fid_fabric fabric{};
  fid_domain domain{};
  endpoint ep;       // endpoints, scalable endpoints and shared receive contexts
  endpoint context;  // of a scalable endpoint
  counter cntr;
  queue cq;
  event_queue eq;
  vector av;
  fid_mr mr{};
  int registered = 0;
};
inline world* here = nullptr;

inline fi_ops_ep scalable_ops_table() {
  fi_ops_ep t = ep_ops;
  t.tx_ctx = [](fid_ep*, int, fi_tx_attr*, fid_ep** out, void*) -> int {
    here->context.object.fid.fclass = FI_CLASS_TX_CTX;
    *out = &here->context.object;
    return 0;
  };
  t.rx_ctx = [](fid_ep*, int, fi_rx_attr*, fid_ep** out, void*) -> int {
    here->context.object.fid.fclass = FI_CLASS_RX_CTX;
    *out = &here->context.object;
    return 0;
  };
  return t;
}
inline fi_ops_ep scalable_ops = scalable_ops_table();

inline fi_ops_domain domain_table() {
  fi_ops_domain t{};
  t.size = offsetof(fi_ops_domain, query_atomic);
  t.av_open = [](fid_domain*, fi_av_attr*, fid_av** out, void*) -> int {
    *out = &here->av.object;
    return 0;
  };
  t.cq_open = [](fid_domain*, fi_cq_attr*, fid_cq** out, void*) -> int {
    *out = &here->cq.object;
    return 0;
  };
  t.endpoint = [](fid_domain*, fi_info*, fid_ep** out, void*) -> int {
    *out = &here->ep.object;
    return 0;
  };
  t.scalable_ep = [](fid_domain*, fi_info*, fid_ep** out, void*) -> int {
    here->ep.object.fid.fclass = FI_CLASS_SEP;
    *out = &here->ep.object;
    return 0;
  };
  t.srx_ctx = [](fid_domain*, fi_rx_attr*, fid_ep** out, void*) -> int {
    here->context.object.fid.fclass = FI_CLASS_SRX_CTX;
    *out = &here->context.object;
    return 0;
  };
  t.cntr_open = [](fid_domain*, fi_cntr_attr*, fid_cntr** out, void*) -> int {
    *out = &here->cntr.object;
    return 0;
  };
  return t;
}
inline fi_ops_domain domain_ops = domain_table();
inline fi_ops_mr mr_table() {
  fi_ops_mr t{};
  t.size = sizeof t;
  t.reg = [](fid*, const void* at, size_t, uint64_t, uint64_t, uint64_t, uint64_t, fid_mr** out,
             void*) -> int {
    if (at == nullptr) return -FI_EINVAL;
    ++here->registered;
    *out = &here->mr;
    return 0;
  };
  // As providers do: one goes through the other, through the table.
  t.regv = [](fid* f, const iovec* parts, size_t, uint64_t a, uint64_t o, uint64_t k,
              uint64_t flags, fid_mr** out, void* c) -> int {
    return reinterpret_cast<fid_domain*>(f)->mr->reg(f, parts->iov_base, parts->iov_len, a, o, k,
                                                     flags, out, c);
  };
  return t;
}
inline fi_ops_mr mr_ops = mr_table();
inline fi_ops_fabric fabric_table() {
  fi_ops_fabric t{};
  t.size = sizeof t;
  t.domain = [](fid_fabric*, fi_info*, fid_domain** out, void*) -> int {
    *out = &here->domain;
    return 0;
  };
  t.eq_open = [](fid_fabric*, fi_eq_attr*, fid_eq** out, void*) -> int {
    *out = &here->eq.object;
    return 0;
  };
  t.trywait = [](fid_fabric*, fid**, int) -> int { return 0; };
  return t;
}
inline fi_ops_fabric fabric_ops = fabric_table();

inline void open(world& w) {
  here = &w;
  w.fabric.fid.ops = &plain_fid;
  w.fabric.ops = &fabric_ops;
  w.domain.fid.ops = &plain_fid;
  w.domain.ops = &domain_ops;
  w.domain.mr = &mr_ops;
  for (endpoint* ep : {&w.ep, &w.context}) {
    open(*ep);
    ep->object.cm = &connection;
    ep->object.atomic = &atomics;
    ep->object.collective = &collectives;
    ep->object.ops = &scalable_ops;
  }
  open(w.cq);
  w.cntr.object.fid.fclass = FI_CLASS_CNTR;
  w.cntr.object.fid.ops = &plain_fid;
  w.cntr.object.ops = &cntr_ops;
  w.eq.object.fid.fclass = FI_CLASS_EQ;
  w.eq.object.fid.ops = &plain_fid;
  w.eq.object.ops = &eq_ops;
  w.av.object.fid.fclass = FI_CLASS_AV;
  w.av.object.fid.ops = &plain_fid;
  w.av.object.ops = &av_ops;
}

}  // namespace fake
