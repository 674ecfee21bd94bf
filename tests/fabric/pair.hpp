// SPDX-License-Identifier: Apache-2.0
// Two endpoints of a real provider in one process, and what they did, counted without the library.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fabric_test {

/// The provider that this run is about; "+" stands for ";".
inline std::string provider_name() {
  const char* name = std::getenv("FABSCOPE_TEST_PROVIDER");
  std::string out = name == nullptr ? "tcp;ofi_rxm" : name;
  for (char& c : out) {
    if (c == '+') c = ';';
  }
  return out;
}

struct setup {
  std::uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA;
  fi_cq_format format = FI_CQ_FORMAT_TAGGED;
  std::uint64_t bind = FI_TRANSMIT | FI_RECV;
  std::uint64_t tx_flags = 0;
  bool counters = false;
  bool waitable = false;
};

/// What came out of a completion queue.
struct seen {
  void* context;
  std::uint64_t length;
  int error;
  friend bool operator==(const seen&, const seen&) = default;
};

struct side {
  fid_domain* domain = nullptr;
  fid_ep* ep = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_cntr* counter = nullptr;
  fid_mr* mr = nullptr;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::uint64_t remote_key = 0;
  std::uint64_t remote_address = 0;
  std::vector<char> memory;
  std::vector<seen> done;
  int reads = 0;
  std::uint32_t calls[5] = {};  ///< of the five reads, that gave something
};

/// `Instrument` is called with the fabric before anything is opened from it.
class pair {
 public:
  template <class Instrument>
  pair(const setup& what, Instrument&& instrument) : what_(what) {
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = what.caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->op_flags = what.tx_flags;
    const std::string provider = provider_name();
    hints->fabric_attr->prov_name = ::strdup(provider.c_str());
    const bool local = provider == "shm";
    const int found = fi_getinfo(FI_VERSION(1, 17), local ? nullptr : "127.0.0.1", nullptr,
                                 local ? 0 : FI_SOURCE, hints, &info);
    fi_freeinfo(hints);
    if (found != 0) return;
    if (fi_fabric(info->fabric_attr, &fabric, nullptr) != 0) return;
    instrument(fabric);
    usable = open(a) && open(b) && meet(a, b) && meet(b, a);
  }
  ~pair() {
    close(a);
    close(b);
    shut(fabric);
    fi_freeinfo(info);
  }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;

  void close(side& s) {
    shut(s.ep);
    shut(s.mr);
    shut(s.cq);
    shut(s.counter);
    shut(s.av);
    shut(s.domain);
  }
  template <class Object>
  void shut(Object*& object) {
    if (object == nullptr) return;
    const int result = fi_close(&object->fid);
    if (result != 0) std::printf("fi_close: %s\n", fi_strerror(-result));
    object = nullptr;
  }

  /// Reads both queues, each call in the next of the five ways.
  void poll() {
    poll(a);
    poll(b);
  }
  void poll(side& s) {
    if (s.cq == nullptr) return;
    alignas(8) unsigned char entries[16 * 48];
    static constexpr std::size_t strides[] = {8, 8, 24, 40, 48};
    const std::size_t stride = strides[static_cast<std::size_t>(what_.format)];
    fi_addr_t sources[16];
    const int how = s.reads++ % (what_.waitable ? 4 : 2);
    ssize_t got = 0;
    if (how == 0) got = fi_cq_read(s.cq, entries, 16);
    if (how == 1) got = fi_cq_readfrom(s.cq, entries, 16, sources);
    if (how == 2) got = fi_cq_sread(s.cq, entries, 16, nullptr, 1);
    if (how == 3) got = fi_cq_sreadfrom(s.cq, entries, 16, sources, nullptr, 1);
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(s.cq, &error, 0) == 1) {
        s.done.push_back({error.op_context, error.len, error.err});
        ++s.calls[4];
      }
      return;
    }
    if (got > 0) ++s.calls[how];
    for (ssize_t i = 0; i < got; ++i) {
      const unsigned char* entry = entries + static_cast<std::size_t>(i) * stride;
      seen one{};
      std::memcpy(&one.context, entry, sizeof one.context);
      if (stride >= 24) std::memcpy(&one.length, entry + 16, sizeof one.length);
      s.done.push_back(one);
    }
  }

  /// Polls until the condition holds; false if that takes longer than any machine should need.
  template <class Condition>
  bool until(Condition&& condition, int seconds = 30) {
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (!condition()) {
      poll();
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec - begin.tv_sec > seconds) return false;
      if (provider_name() == "sockets") {
        const timespec moment{0, 20000};  // its progress threads need the processor
        nanosleep(&moment, nullptr);
      }
    }
    return true;
  }

  /// Repeats a call as long as there is no room for it. Counts the refusals.
  template <class Call>
  ssize_t again(Call&& call) {
    for (;;) {
      const ssize_t result = call();
      if (result != -FI_EAGAIN) return result;
      ++refused;
      poll();
    }
  }

  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  side a;
  side b;
  bool usable = false;
  std::uint64_t refused = 0;

 private:
  bool open(side& s) {
    if (fi_domain(fabric, info, &s.domain, nullptr) != 0) return false;
    fi_cq_attr queue{};
    queue.format = what_.format;
    queue.size = 256;
    queue.wait_obj = what_.waitable ? FI_WAIT_UNSPEC : FI_WAIT_NONE;
    if (fi_cq_open(s.domain, &queue, &s.cq, nullptr) != 0) return false;
    fi_av_attr vector{};
    vector.type =
        info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info->domain_attr->av_type;
    vector.count = 8;
    if (fi_av_open(s.domain, &vector, &s.av, nullptr) != 0) return false;
    if (fi_endpoint(s.domain, info, &s.ep, nullptr) != 0) return false;
    if (fi_ep_bind(s.ep, &s.av->fid, 0) != 0) return false;
    if (fi_ep_bind(s.ep, &s.cq->fid, what_.bind) != 0) return false;
    if (what_.counters) {
      fi_cntr_attr counter{};
      if (fi_cntr_open(s.domain, &counter, &s.counter, nullptr) != 0) return false;
      if (fi_ep_bind(s.ep, &s.counter->fid, FI_SEND | FI_RECV) != 0) return false;
    }
    if (fi_enable(s.ep) != 0) return false;
    s.memory.resize(1 << 16);
    if ((what_.caps & FI_RMA) != 0) {
      static std::uint64_t key = 1;
      if (fi_mr_reg(s.domain, s.memory.data(), s.memory.size(),
                    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                    key++, 0, &s.mr, nullptr) != 0) {
        return false;
      }
    }
    return true;
  }
  bool meet(side& from, side& to) {
    char address[512];
    std::size_t size = sizeof address;
    if (fi_getname(&to.ep->fid, address, &size) != 0) return false;
    if (fi_av_insert(from.av, address, 1, &from.peer, 0, nullptr) != 1) return false;
    if (to.mr != nullptr) {
      from.remote_key = fi_mr_key(to.mr);
      const bool virt = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
      from.remote_address = virt ? reinterpret_cast<std::uintptr_t>(to.memory.data()) : 0;
    }
    return true;
  }

  setup what_;
};

}  // namespace fabric_test
