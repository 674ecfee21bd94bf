// SPDX-License-Identifier: Apache-2.0
// Follows a libfabric program's operations: one call, right after fi_fabric. Here an endpoint sends
// itself a message over loopback; without libfabric's tcp;ofi_rxm provider there is nothing to
// show.
#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fabscope/fabric.hpp>
#include <fabscope/session.hpp>
#include <fabscope/sink/memory_sink.hpp>

void must(ssize_t result, const char* what) {
  if (result >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-result)));
  std::exit(1);
}

int main() {
  fabscope::memory_sink<fabscope::operation_record> operations;
  fabscope::session session;
  session.add_sink(operations);

  fi_info* hints = fi_allocinfo();
  hints->caps = FI_TAGGED;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
  fi_info* info = nullptr;
  if (fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &info) != 0) return 0;
  fid_fabric* fabric = nullptr;
  must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabscope::fabric::instrument(fabric);  // everything that is opened from it is followed

  fid_domain* domain = nullptr;
  fid_ep* ep = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  fi_av_attr addresses{};
  addresses.type = FI_AV_TABLE;
  must(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
  must(fi_endpoint(domain, info, &ep, nullptr), "fi_endpoint");
  must(fi_cq_open(domain, &queue, &cq, nullptr), "fi_cq_open");
  must(fi_av_open(domain, &addresses, &av, nullptr), "fi_av_open");
  must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
  must(fi_enable(ep), "fi_enable");
  char name[256];
  std::size_t size = sizeof name;
  fi_addr_t self = FI_ADDR_UNSPEC;
  must(fi_getname(&ep->fid, name, &size), "fi_getname");
  must(fi_av_insert(av, name, 1, &self, 0, nullptr), "fi_av_insert");

  char in[64] = "";
  char out[64] = "hello";
  must(fi_trecv(ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, in), "fi_trecv");
  fi_cq_tagged_entry entry{};
  ssize_t sent = 0;
  while ((sent = fi_tsend(ep, out, sizeof out, nullptr, self, 1, out)) == -FI_EAGAIN)
    fi_cq_read(cq, &entry, 0);  // connects meanwhile
  must(sent, "fi_tsend");
  for (int completed = 0; completed < 2;) {
    if (fi_cq_read(cq, &entry, 1) != 1) continue;
    if (entry.op_context != in && entry.op_context != out) return 1;  // still the program's own
    ++completed;
  }
  for (fid* object : {&ep->fid, &cq->fid, &av->fid, &domain->fid, &fabric->fid}) fi_close(object);
  fi_freeinfo(info);
  fi_freeinfo(hints);
  session.finish();
  const auto& all = operations.all<fabscope::operation_record>();
  for (const fabscope::operation_record& one : all) {
    std::printf("%s of %llu bytes\n", to_string(static_cast<fabscope::operation>(one.op)),
                static_cast<unsigned long long>(one.bytes));
  }
  return all.size() == 2 ? 0 : 1;
}
