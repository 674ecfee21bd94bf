// SPDX-License-Identifier: Apache-2.0
// For the examples: an endpoint that sends itself tagged messages over loopback. It knows nothing
// of fabscope.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

class loopback {
 public:
  loopback() {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = ::strdup("tcp;ofi_rxm");
    const int found = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &info_);
    fi_freeinfo(hints);
    if (found != 0) {
      std::printf("nothing to show without libfabric's provider tcp;ofi_rxm\n");
      std::exit(0);
    }
    must(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
  }
  ~loopback() {
    for (fid* object : {&ep_->fid, &cq_->fid, &av_->fid, &domain_->fid, &fabric_->fid})
      fi_close(object);
    fi_freeinfo(info_);
  }
  loopback(const loopback&) = delete;
  loopback& operator=(const loopback&) = delete;

  fid_fabric* fabric() const { return fabric_; }

  /// Opens the rest.
  void start() {
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_TAGGED;
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    must(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    must(fi_endpoint(domain_, info_, &ep_, nullptr), "fi_endpoint");
    must(fi_cq_open(domain_, &queue, &cq_, nullptr), "fi_cq_open");
    must(fi_av_open(domain_, &addresses, &av_, nullptr), "fi_av_open");
    must(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_ep_bind(ep_, &av_->fid, 0), "fi_ep_bind");
    must(fi_enable(ep_), "fi_enable");
    char name[256];
    std::size_t size = sizeof name;
    must(fi_getname(&ep_->fid, name, &size), "fi_getname");
    must(fi_av_insert(av_, name, 1, &self_, 0, nullptr), "fi_av_insert");
  }

  /// Sends `bytes` bytes with a tag and waits until they have arrived.
  void send(std::uint64_t tag, std::size_t bytes) {
    std::vector<char> in(bytes);
    std::vector<char> out(bytes);
    must(fi_trecv(ep_, in.data(), bytes, nullptr, FI_ADDR_UNSPEC, tag, 0, &in), "fi_trecv");
    fi_cq_tagged_entry entry{};
    ssize_t sent = 0;
    while ((sent = fi_tsend(ep_, out.data(), bytes, nullptr, self_, tag, &out)) == -FI_EAGAIN)
      fi_cq_read(cq_, &entry, 0);  // connects meanwhile
    must(sent, "fi_tsend");
    for (int completed = 0; completed < 2;) {
      if (fi_cq_read(cq_, &entry, 1) != 1) continue;
      if (entry.op_context != &in && entry.op_context != &out) std::abort();
      ++completed;
    }
  }

 private:
  static void must(ssize_t result, const char* what) {
    if (result >= 0) return;
    std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-result)));
    std::exit(1);
  }

  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_ep* ep_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  fi_addr_t self_ = FI_ADDR_UNSPEC;
};
