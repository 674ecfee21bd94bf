// SPDX-License-Identifier: Apache-2.0
// An instrumented endpoint of a provider that does next to nothing.
#include "measure.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

#include <fabscope/fabric/instrument.hpp>

#include <support/fake_provider.hpp>

namespace fs = fabscope;

namespace instructions {

void fabric() {
  bench::fake_addresses addresses;
  bench::fake_queue queue;
  bench::fake_endpoint endpoint;
  fi_info* about = fi_allocinfo();
  about->addr_format = FI_ADDR_STR;
  about->ep_attr->type = FI_EP_RDM;
  about->domain_attr->name = ::strdup("fake");
  bool good = fs::fabric::instrument(&addresses.object, FI_ADDR_STR) &&
              fs::fabric::instrument(&queue.object, FI_CQ_FORMAT_TAGGED) &&
              fs::fabric::instrument(&endpoint.object, about);
  fi_freeinfo(about);
  fi_addr_t peer[4] = {};
  const std::vector<char> raw(64);
  (void)fi_av_insert(&addresses.object, raw.data(), 4, peer, 0, nullptr);
  (void)fi_ep_bind(&endpoint.object, &addresses.object.fid, 0);
  (void)fi_ep_bind(&endpoint.object, &queue.object.fid, FI_TRANSMIT | FI_RECV);
  good = fi_enable(&endpoint.object) == 0 && good;
  if (!good) std::puts("the fake provider could not be instrumented");
  fi_cq_tagged_entry entry;
  char buffer[64] = {};
  // Both with the provider's own part: 66 and 15 instructions with g++ 12.
  row("fabric_operation", [&](std::size_t) {
    (void)fi_tsend(&endpoint.object, buffer, 1024, nullptr, peer[1], 7, buffer);
    (void)fi_cq_read(&queue.object, &entry, 1);
  });
  row("fabric_poll_empty", [&](std::size_t) { (void)fi_cq_read(&queue.object, &entry, 1); });
}

}  // namespace instructions
