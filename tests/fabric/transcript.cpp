// SPDX-License-Identifier: Apache-2.0
// Two endpoints of a real provider in one process, every family of operations in many set-ups, and
// all that the application can observe as text. Knows nothing of the library: run bare and
// instrumented, both texts have to be the same. Usage: transcript PROVIDER
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

enum class wait_style { spin, from, sread, fd };

struct config {
  const char* name;
  fi_ep_type type = FI_EP_RDM;
  fi_av_type av = FI_AV_TABLE;
  wait_style wait = wait_style::spin;
  fi_cq_format format = FI_CQ_FORMAT_TAGGED;
  std::uint64_t tx_flags = 0;
  bool selective = false;
  bool counters = false;
  fi_threading threading = FI_THREAD_SAFE;
  bool shared_receive = false;
};

struct amount {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
std::map<std::string, amount> issued;  // accepted calls

fi_context2 contexts[256];  // some operations let the provider write there
int next_context = 0;

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct side {
  const char* name = "";
  fid_domain* domain = nullptr;
  fid_ep* ep = nullptr;
  fid_ep* shared = nullptr;  // receives are posted there
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_eq* eq = nullptr;
  fid_cntr* sent = nullptr;
  fid_cntr* received = nullptr;
  fid_mr* mr = nullptr;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  int wait_fd = -1;
  std::uint64_t key = 0;
  std::uint64_t address = 0;
  std::vector<char> memory = std::vector<char>(1 << 16);
  std::vector<std::string> seen;  // entries as text
  fid_ep* receiver() const { return shared != nullptr ? shared : ep; }
};

std::string context_text(const void* context) {
  const auto* at = static_cast<const fi_context2*>(context);
  if (context == nullptr) return "null";
  if (at >= contexts && at < std::end(contexts)) return std::to_string(at - contexts);
  return "strange";
}

class world {
 public:
  world(const config& of, std::string provider, std::uint64_t caps) : of_(of), provider_(provider) {
    a.name = "a";
    b.name = "b";
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = of.type;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = of.threading;
    hints->tx_attr->op_flags = of.tx_flags;
    hints->fabric_attr->prov_name = ::strdup(provider.c_str());
    const bool local = provider == "shm";
    found = fi_getinfo(FI_VERSION(1, 17), local ? nullptr : "127.0.0.1",
                       of.type == FI_EP_MSG ? "0" : nullptr, local ? 0 : FI_SOURCE, hints, &info);
    fi_freeinfo(hints);
    if (found != 0) return;
    found = fi_fabric(info->fabric_attr, &fabric, nullptr);
    if (found != 0) return;
    found = of.type == FI_EP_MSG ? connect() : meet();
  }
  ~world() {
    for (side* s : {&a, &b}) {
      shut(s->ep);
      shut(s->shared);
      shut(s->mr);
      shut(s->cq);
      shut(s->sent);
      shut(s->received);
      shut(s->av);
      shut(s->domain);
      shut(s->eq);
    }
    shut(listening);
    shut(listener);
    shut(fabric);
    fi_freeinfo(info);
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  template <class Object>
  static void shut(Object*& object) {
    if (object == nullptr) return;
    const int result = fi_close(&object->fid);
    if (result != 0) std::printf("  fi_close %d\n", result);
    object = nullptr;
  }

  void poll(side& s) {
    alignas(8) unsigned char entries[8 * sizeof(fi_cq_tagged_entry)];
    fi_addr_t from[8];
    ssize_t got = 0;
    switch (of_.wait) {
      case wait_style::spin: got = fi_cq_read(s.cq, entries, 8); break;
      case wait_style::from:
        std::fill(std::begin(from), std::end(from), FI_ADDR_NOTAVAIL);
        got = fi_cq_readfrom(s.cq, entries, 8, from);
        break;
      case wait_style::sread: got = fi_cq_sread(s.cq, entries, 8, nullptr, 1); break;
      case wait_style::fd: {
        fid* objects[] = {&s.cq->fid};
        if (fi_trywait(fabric, objects, 1) == 0) {
          pollfd one{s.wait_fd, POLLIN, 0};
          (void)::poll(&one, 1, 1);
        }
        got = fi_cq_read(s.cq, entries, 8);
        break;
      }
    }
    if (provider_ == "sockets") {
      const timespec moment{0, 20000};  // its progress threads need the processor
      ::nanosleep(&moment, nullptr);
    }
    if (got == -FI_EAVAIL) return error(s);
    if (got < 0) {
      // Nothing came in time: udp 1.17 says so in its own way.
      if (got != -FI_EAGAIN && got != -FI_ETIMEDOUT)
        s.seen.push_back("read " + std::to_string(got));
      return;
    }
    static constexpr std::size_t strides[] = {8, 8, 24, 40, 48};
    const std::size_t stride = strides[of_.format];
    for (ssize_t i = 0; i < got; ++i) {
      fi_cq_tagged_entry one{};
      std::memcpy(&one, entries + static_cast<std::size_t>(i) * stride, stride);
      char text[200];
      const bool with_data = (one.flags & FI_REMOTE_CQ_DATA) != 0;
      std::snprintf(text, sizeof text, "context %s flags %llx len %zu data %llu tag %llu source %s",
                    context_text(one.op_context).c_str(),
                    static_cast<unsigned long long>(one.flags), one.len,
                    static_cast<unsigned long long>(with_data ? one.data : 0),
                    static_cast<unsigned long long>(
                        (one.flags & FI_TAGGED) != 0 && (one.flags & FI_RECV) != 0 ? one.tag : 0),
                    of_.wait != wait_style::from || (one.flags & FI_RECV) == 0 ? "-"
                    : from[i] == FI_ADDR_NOTAVAIL                              ? "none"
                    : from[i] == s.peer                                        ? "peer"
                                                                               : "other");
      s.seen.push_back(text);
    }
  }
  static void error(side& s) {
    fi_cq_err_entry entry{};
    const ssize_t got = fi_cq_readerr(s.cq, &entry, 0);
    if (got == -FI_EAGAIN) return;
    char text[200];
    std::snprintf(text, sizeof text, "error %zd context %s err %d len %zu olen %zu", got,
                  context_text(entry.op_context).c_str(), entry.err, entry.len, entry.olen);
    s.seen.push_back(text);
  }

  template <class Condition>
  bool until(Condition&& condition, double limit = 10) {
    const double end = seconds() + limit;
    while (!condition()) {
      poll(a);
      poll(b);
      if (seconds() > end) return false;
    }
    return true;
  }

  /// A call that is repeated while there is no room for it.
  ssize_t call(const char* name, std::uint64_t bytes, const std::function<ssize_t()>& made) {
    ssize_t result;
    const double end = seconds() + 10;
    while ((result = made()) == -FI_EAGAIN && seconds() < end) {
      poll(a);
      poll(b);
    }
    std::printf("  %s %zd\n", name, result);
    if (result != 0) return result;
    issued[name].count += 1;
    issued[name].bytes += bytes;
    return result;
  }

  /// Entries since the last time, in the order of their text.
  void show() {
    for (side* s : {&a, &b}) {
      std::sort(s->seen.begin(), s->seen.end());
      for (const std::string& one : s->seen) std::printf("  %s %s\n", s->name, one.c_str());
      s->seen.clear();
    }
  }

  std::uint64_t sent(side& s) { return s.sent == nullptr ? 0 : fi_cntr_read(s.sent); }
  std::uint64_t received(side& s) { return s.received == nullptr ? 0 : fi_cntr_read(s.received); }

  /// What tells that a call of a is over: an entry, or a counter, or the bytes that came.
  bool over(std::size_t entries_a, std::size_t entries_b, std::uint64_t count_a,
            std::uint64_t count_b, const std::function<bool()>& arrived) {
    return until([&] {
      return a.seen.size() >= entries_a && b.seen.size() >= entries_b && sent(a) >= count_a &&
             received(b) >= count_b && arrived();
    });
  }

  const config& of() const { return of_; }
  bool is_sockets() const { return provider_ == "sockets"; }

  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_pep* listening = nullptr;
  fid_eq* listener = nullptr;
  side a;
  side b;
  int found = 0;
  std::uint64_t expected_sent = 0;
  std::uint64_t expected_received = 0;

 private:
  int open(side& s, fi_info* from) {
    if (int result = fi_domain(fabric, from, &s.domain, nullptr)) return result;
    fi_cq_attr queue{};
    queue.format = of_.format;
    queue.size = 256;
    queue.wait_obj = of_.wait == wait_style::sread ? FI_WAIT_UNSPEC
                     : of_.wait == wait_style::fd  ? FI_WAIT_FD
                                                   : FI_WAIT_NONE;
    if (int result = fi_cq_open(s.domain, &queue, &s.cq, nullptr)) return result;
    if (of_.wait == wait_style::fd) {
      if (int result = fi_control(&s.cq->fid, FI_GETWAIT, &s.wait_fd)) return result;
    }
    if (of_.shared_receive) {
      if (int result = fi_srx_context(s.domain, from->rx_attr, &s.shared, nullptr)) return result;
      from->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    }
    if (int result = fi_endpoint(s.domain, from, &s.ep, nullptr)) return result;
    const std::uint64_t selective = of_.selective ? FI_SELECTIVE_COMPLETION : 0;
    if (int result = fi_ep_bind(s.ep, &s.cq->fid, FI_TRANSMIT | FI_RECV | selective)) return result;
    if (s.shared != nullptr) {
      if (int result = fi_ep_bind(s.ep, &s.shared->fid, 0)) return result;
    }
    if (of_.counters) {
      fi_cntr_attr counter{};
      if (int result = fi_cntr_open(s.domain, &counter, &s.sent, nullptr)) return result;
      if (int result = fi_cntr_open(s.domain, &counter, &s.received, nullptr)) return result;
      if (int result = fi_ep_bind(s.ep, &s.sent->fid, FI_SEND | FI_WRITE | FI_READ)) return result;
      if (int result = fi_ep_bind(s.ep, &s.received->fid, FI_RECV)) return result;
    }
    if (of_.type == FI_EP_MSG) {
      if (int result = fi_ep_bind(s.ep, &s.eq->fid, 0)) return result;
    } else {
      fi_av_attr vector{};
      vector.type = of_.av;
      vector.count = 8;
      if (int result = fi_av_open(s.domain, &vector, &s.av, nullptr)) return result;
      if (int result = fi_ep_bind(s.ep, &s.av->fid, 0)) return result;
    }
    return fi_enable(s.ep);
  }

  int remember(side& s) {
    if ((info->caps & (FI_RMA | FI_ATOMIC)) == 0) return 0;
    static std::uint64_t key = 1;
    if (int result =
            fi_mr_reg(s.domain, s.memory.data(), s.memory.size(),
                      FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                      key++, 0, &s.mr, nullptr)) {
      return result;
    }
    s.key = fi_mr_key(s.mr);
    const bool virt = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    s.address = virt ? reinterpret_cast<std::uintptr_t>(s.memory.data()) : 0;
    return 0;
  }

  int meet() {
    for (side* s : {&a, &b}) {
      if (int result = open(*s, info)) return result;
      if (int result = remember(*s)) return result;
    }
    for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      char address[512];
      std::size_t size = sizeof address;
      if (int result = fi_getname(&to->ep->fid, address, &size)) return result;
      if (fi_av_insert(from->av, address, 1, &from->peer, 0, nullptr) != 1) return -FI_EINVAL;
    }
    return 0;
  }

  /// The next event of a queue.
  static std::uint32_t event(fid_eq* eq, fi_eq_cm_entry& entry, int milliseconds = 10000) {
    std::uint32_t number = 0;
    alignas(8) char buffer[sizeof(fi_eq_cm_entry) + 256];
    const ssize_t got = fi_eq_sread(eq, &number, buffer, sizeof buffer, milliseconds, 0);
    if (got < static_cast<ssize_t>(sizeof entry)) return ~0U;
    std::memcpy(&entry, buffer, sizeof entry);
    return number;
  }
  int connect() {
    fi_eq_attr events{};
    events.wait_obj = FI_WAIT_UNSPEC;
    for (fid_eq** eq : {&listener, &a.eq, &b.eq}) {
      if (int result = fi_eq_open(fabric, &events, eq, nullptr)) return result;
    }
    if (int result = fi_passive_ep(fabric, info, &listening, nullptr)) return result;
    if (int result = fi_pep_bind(listening, &listener->fid, 0)) return result;
    if (int result = fi_listen(listening)) return result;
    char address[512];
    std::size_t size = sizeof address;
    if (int result = fi_getname(&listening->fid, address, &size)) return result;
    if (int result = open(a, info)) return result;
    if (int result = fi_connect(a.ep, address, nullptr, 0)) return result;
    fi_eq_cm_entry entry{};
    if (event(listener, entry) != FI_CONNREQ) return -FI_ETIMEDOUT;
    const int opened = open(b, entry.info);
    const int accepted = opened == 0 ? fi_accept(b.ep, nullptr, 0) : opened;
    fi_freeinfo(entry.info);
    if (accepted != 0) return accepted;
    // In turn: each side's provider works only while its queue is read.
    bool there[2] = {};
    const double end = seconds() + 10;
    while (!there[0] || !there[1]) {
      if (seconds() > end) return -FI_ETIMEDOUT;
      if (!there[0]) there[0] = event(a.eq, entry, 5) == FI_CONNECTED;
      if (!there[1]) there[1] = event(b.eq, entry, 5) == FI_CONNECTED;
    }
    if (int result = remember(a)) return result;
    return remember(b);
  }

  config of_;
  std::string provider_;
};

/// Arguments that nearly every call needs.
struct using_world {
  explicit using_world(world& of)
      : w(of),
        from(of.a.memory.data()),
        into(of.b.memory.data()),
        own(of.a.mr == nullptr ? nullptr : fi_mr_desc(of.a.mr)),
        their(of.b.mr == nullptr ? nullptr : fi_mr_desc(of.b.mr)),
        to(of.a.peer) {}
  world& w;
  char* from;
  char* into;
  void* own;
  void* their;
  fi_addr_t to;
  void* fresh() {
    return &contexts[static_cast<std::size_t>(next_context++) % std::size(contexts)];
  }
};

using send_call = std::function<ssize_t(void* context)>;

/// One message: a receive, a send, and what came of both. `asks`: the call asks for its completion.
void message(using_world& u, const char* sending, const char* receiving, std::size_t size,
             bool silent, bool asks, const send_call& receive, const send_call& send) {
  world& w = u.w;
  std::memset(u.from, 'a' + next_context % 26, size);
  std::memset(u.into, 0, size + 1);
  void* const receive_context = u.fresh();
  void* const send_context = u.fresh();
  const bool entries = !w.of().selective || asks;
  if (w.call(receiving, 0, [&] { return receive(receive_context); }) != 0) return;
  if (w.call(sending, size, [&] { return send(send_context); }) != 0) {
    // The receive stays; what it takes comes later, so that there is nothing to compare.
    std::printf("  receive stays\n");
    return;
  }
  w.expected_sent += w.of().counters ? 1U : 0U;
  w.expected_received += w.of().counters ? 1U : 0U;
  const volatile char* last = u.into + size - 1;  // written by the provider behind our back
  const char expected = size == 0 ? 0 : u.from[size - 1];
  const bool done = w.over(entries && !silent ? 1 : 0, entries ? 1 : 0, w.expected_sent,
                           w.expected_received, [&] { return size == 0 || *last == expected; });
  std::printf("  %s\n", done ? "over" : "timeout");
  w.show();
}

void messages(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  fid_ep* rx = w.b.receiver();
  void* owns[2] = {u.own, u.own};
  void* theirs[2] = {u.their, u.their};
  iovec out[2];
  const auto parts = [&](std::size_t size) {
    out[0] = {u.from, size / 2};
    out[1] = {u.from + size / 2, size - size / 2};
    return out;
  };
  const auto recv = [&](void* c) { return fi_recv(rx, u.into, 4096, u.their, FI_ADDR_UNSPEC, c); };
  const auto recvmsg = [&](void* c) {
    iovec in{u.into, 4096};
    fi_msg m{&in, theirs, 1, FI_ADDR_UNSPEC, c, 0};
    return fi_recvmsg(rx, &m, FI_COMPLETION);
  };
  message(u, "fi_send", "fi_recv", 100, false, false, recv,
          [&](void* c) { return fi_send(ep, u.from, 100, u.own, u.to, c); });
  message(u, "fi_send", "fi_recv", 0, false, false, recv,
          [&](void* c) { return fi_send(ep, u.from, 0, u.own, u.to, c); });
  message(
      u, "fi_sendv", "fi_recvv", 200, false, false,
      [&](void* c) {
        iovec in{u.into, 4096};
        return fi_recvv(rx, &in, theirs, 1, FI_ADDR_UNSPEC, c);
      },
      [&](void* c) { return fi_sendv(ep, parts(200), owns, 2, u.to, c); });
  message(u, "fi_sendmsg", "fi_recvmsg", 300, false, true, recvmsg, [&](void* c) {
    fi_msg m{parts(300), owns, 2, u.to, c, 0};
    return fi_sendmsg(ep, &m, FI_COMPLETION);
  });
  message(u, "fi_senddata", "fi_recv", 101, false, false, recv,
          [&](void* c) { return fi_senddata(ep, u.from, 101, u.own, 5, u.to, c); });
  message(u, "fi_inject", "fi_recv", 8, true, false, recv,
          [&](void*) { return fi_inject(ep, u.from, 8, u.to); });
  message(u, "fi_injectdata", "fi_recv", 9, true, false, recv,
          [&](void*) { return fi_injectdata(ep, u.from, 9, 6, u.to); });
}

void tagged(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  fid_ep* rx = w.b.receiver();
  void* owns[2] = {u.own, u.own};
  void* theirs[2] = {u.their, u.their};
  iovec part{u.from, 64};
  const auto recv = [&](void* c) {
    return fi_trecv(rx, u.into, 4096, u.their, FI_ADDR_UNSPEC, 7, 0, c);
  };
  message(u, "fi_tsend", "fi_trecv", 64, false, false, recv,
          [&](void* c) { return fi_tsend(ep, u.from, 64, u.own, u.to, 7, c); });
  message(
      u, "fi_tsendv", "fi_trecvv", 64, false, false,
      [&](void* c) {
        iovec in{u.into, 4096};
        return fi_trecvv(rx, &in, theirs, 1, FI_ADDR_UNSPEC, 0, ~0ULL, c);
      },
      [&](void* c) { return fi_tsendv(ep, &part, owns, 1, u.to, 7, c); });
  message(
      u, "fi_tsendmsg", "fi_trecvmsg", 64, false, true,
      [&](void* c) {
        iovec in{u.into, 4096};
        fi_msg_tagged m{&in, theirs, 1, FI_ADDR_UNSPEC, 7, 0, c, 0};
        return fi_trecvmsg(rx, &m, FI_COMPLETION);
      },
      [&](void* c) {
        fi_msg_tagged m{&part, owns, 1, u.to, 7, 0, c, 0};
        return fi_tsendmsg(ep, &m, FI_COMPLETION);
      });
  message(u, "fi_tsenddata", "fi_trecv", 67, false, false, recv,
          [&](void* c) { return fi_tsenddata(ep, u.from, 67, u.own, 5, u.to, 7, c); });
  message(u, "fi_tinject", "fi_trecv", 16, true, false, recv,
          [&](void*) { return fi_tinject(ep, u.from, 16, u.to, 7); });
  message(u, "fi_tinjectdata", "fi_trecv", 17, true, false, recv,
          [&](void*) { return fi_tinjectdata(ep, u.from, 17, 4, u.to, 7); });
}

/// One operation on the peer's memory.
void remote(using_world& u, const char* name, std::size_t size, bool silent, bool asks,
            const std::function<bool()>& arrived, const send_call& call) {
  world& w = u.w;
  void* const context = u.fresh();
  if (w.call(name, size, [&] { return call(context); }) != 0) return;
  w.expected_sent += w.of().counters ? 1U : 0U;
  const bool entry = (!w.of().selective || asks) && !silent;
  const bool done = w.over(entry ? 1 : 0, 0, w.expected_sent, 0,
                           [&] { return entry || w.of().counters || arrived(); });
  std::printf("  %s\n", done ? "over" : "timeout");
  w.show();
}

void rma(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  void* owns[1] = {u.own};
  const std::uint64_t at = w.b.address;
  const std::uint64_t key = w.b.key;
  iovec part{u.from, 500};
  fi_rma_iov target{at, 500, key};
  const auto mark = [&](char* into, const char* of) {
    std::memset(into, 0, 500);
    std::memset(const_cast<char*>(of), 'A' + next_context % 26, 500);
    const volatile char* last = into + 499;
    const char expected = of[499];
    return std::function<bool()>([last, expected] { return *last == expected; });
  };
  remote(u, "fi_write", 500, false, false, mark(u.into, u.from),
         [&](void* c) { return fi_write(ep, u.from, 500, u.own, u.to, at, key, c); });
  remote(u, "fi_writev", 500, false, false, mark(u.into, u.from),
         [&](void* c) { return fi_writev(ep, &part, owns, 1, u.to, at, key, c); });
  remote(u, "fi_writemsg", 500, false, true, mark(u.into, u.from), [&](void* c) {
    fi_msg_rma m{&part, owns, 1, u.to, &target, 1, c, 0};
    return fi_writemsg(ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE);
  });
  remote(u, "fi_read", 500, false, false, mark(u.from, u.into),
         [&](void* c) { return fi_read(ep, u.from, 500, u.own, u.to, at, key, c); });
  remote(u, "fi_readv", 500, false, false, mark(u.from, u.into),
         [&](void* c) { return fi_readv(ep, &part, owns, 1, u.to, at, key, c); });
  remote(u, "fi_readmsg", 500, false, true, mark(u.from, u.into), [&](void* c) {
    fi_msg_rma m{&part, owns, 1, u.to, &target, 1, c, 0};
    return fi_readmsg(ep, &m, FI_COMPLETION);
  });
  std::memset(u.into, 0, 8);
  std::memset(u.from, 'z', 8);
  const volatile char* last = u.into + 7;
  remote(
      u, "fi_inject_write", 8, true, false, [&] { return *last == 'z'; },
      [&](void*) { return fi_inject_write(ep, u.from, 8, u.to, at, key); });
  (void)w.until([&] { return *last == 'z'; }, 5);
}

void atomics(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  std::size_t most = 0;
  if (fi_atomicvalid(ep, FI_UINT64, FI_SUM, &most) != 0) {
    std::printf("skip: no atomic sum of 64 bits\n");
    return;
  }
  void* owns[1] = {u.own};
  const std::uint64_t at = w.b.address;
  const std::uint64_t key = w.b.key;
  auto* operand = reinterpret_cast<std::uint64_t*>(u.from);
  auto* compared = reinterpret_cast<std::uint64_t*>(u.from + 64);
  auto* result = reinterpret_cast<std::uint64_t*>(u.from + 128);
  auto* target = reinterpret_cast<std::uint64_t*>(u.into);
  *operand = 3;
  *target = 10;
  fi_ioc part{operand, 1};
  fi_ioc compare{compared, 1};
  fi_ioc back{result, 1};
  fi_rma_ioc there{at, 1, key};
  const auto any = [] { return true; };
  const auto message_of = [&](void* c, fi_op op) {
    return fi_msg_atomic{&part, owns, 1, u.to, &there, 1, FI_UINT64, op, c, 0};
  };
  if (w.of().selective && !w.of().counters) {
    std::printf("skip: no way to know that an atomic is over\n");
    return;
  }
  remote(u, "fi_atomic", 8, false, false, any, [&](void* c) {
    return fi_atomic(ep, operand, 1, u.own, u.to, at, key, FI_UINT64, FI_SUM, c);
  });
  remote(u, "fi_atomicv", 8, false, false, any, [&](void* c) {
    return fi_atomicv(ep, &part, owns, 1, u.to, at, key, FI_UINT64, FI_SUM, c);
  });
  remote(u, "fi_atomicmsg", 8, false, true, any, [&](void* c) {
    const fi_msg_atomic m = message_of(c, FI_SUM);
    return fi_atomicmsg(ep, &m, FI_COMPLETION);
  });
  remote(u, "fi_fetch_atomic", 8, false, false, any, [&](void* c) {
    return fi_fetch_atomic(ep, operand, 1, u.own, result, u.own, u.to, at, key, FI_UINT64, FI_SUM,
                           c);
  });
  remote(u, "fi_fetch_atomicv", 8, false, false, any, [&](void* c) {
    return fi_fetch_atomicv(ep, &part, owns, 1, &back, owns, 1, u.to, at, key, FI_UINT64, FI_SUM,
                            c);
  });
  remote(u, "fi_fetch_atomicmsg", 8, false, true, any, [&](void* c) {
    const fi_msg_atomic m = message_of(c, FI_SUM);
    return fi_fetch_atomicmsg(ep, &m, &back, owns, 1, FI_COMPLETION);
  });
  std::printf("  fetched %llu\n", static_cast<unsigned long long>(*result));
  *compared = *result + 3;
  remote(u, "fi_compare_atomic", 8, false, false, any, [&](void* c) {
    return fi_compare_atomic(ep, operand, 1, u.own, compared, u.own, result, u.own, u.to, at, key,
                             FI_UINT64, FI_CSWAP, c);
  });
  remote(u, "fi_compare_atomicv", 8, false, false, any, [&](void* c) {
    return fi_compare_atomicv(ep, &part, owns, 1, &compare, owns, 1, &back, owns, 1, u.to, at, key,
                              FI_UINT64, FI_CSWAP, c);
  });
  remote(u, "fi_compare_atomicmsg", 8, false, true, any, [&](void* c) {
    const fi_msg_atomic m = message_of(c, FI_CSWAP);
    return fi_compare_atomicmsg(ep, &m, &compare, owns, 1, &back, owns, 1, FI_COMPLETION);
  });
  std::printf("  compared %llu, there is %llu\n", static_cast<unsigned long long>(*result),
              static_cast<unsigned long long>(*target));
  remote(
      u, "fi_inject_atomic", 8, true, false, [&] { return *target != 3; },
      [&](void*) { return fi_inject_atomic(ep, operand, 1, u.to, at, key, FI_UINT64, FI_SUM); });
}

/// What goes wrong.
void trouble(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  fid_ep* rx = w.b.receiver();
  void* const context = u.fresh();
  const auto trecv = [&](std::uint64_t tag, std::size_t size, void* c) {
    return w.call("fi_trecv", 0,
                  [&] { return fi_trecv(rx, u.into, size, u.their, FI_ADDR_UNSPEC, tag, 0, c); });
  };
  const auto tsend = [&](std::uint64_t tag, std::size_t size) {
    void* const c = u.fresh();
    return w.call("fi_tsend", size,
                  [&] { return fi_tsend(ep, u.from, size, u.own, u.to, tag, c); });
  };
  // Two receives with one context: one is cancelled, the other still works.
  trecv(5, 100, context);
  trecv(5, 100, context);
  std::printf("  fi_cancel %zd\n", fi_cancel(&rx->fid, context));
  (void)w.until([&] { return !w.b.seen.empty(); }, 3);
  w.show();
  tsend(5, 50);
  (void)w.until([&] { return !w.a.seen.empty() && !w.b.seen.empty(); });
  w.show();
  std::printf("  fi_cancel of nothing %zd\n", fi_cancel(&rx->fid, &w));
  // A message that is longer than the buffer.
  trecv(6, 10, u.fresh());
  tsend(6, 50);
  (void)w.until([&] { return !w.a.seen.empty() && !w.b.seen.empty(); }, 3);
  w.show();
}

/// Calls that look before they receive: peek at nothing, peek and claim what is there, then receive
/// what was claimed.
void peeks(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  fid_ep* rx = w.b.receiver();
  void* theirs[1] = {u.their};
  iovec in{u.into, 100};
  const auto peek = [&](std::uint64_t flags, void* c) {
    fi_msg_tagged m{&in, theirs, 1, FI_ADDR_UNSPEC, 8, 0, c, 0};
    return w.call("fi_trecvmsg", 0, [&] { return fi_trecvmsg(rx, &m, flags | FI_COMPLETION); });
  };
  const auto entry_of_b = [&] {
    (void)w.until([&] { return !w.b.seen.empty(); }, 3);
    w.show();
  };
  if (w.is_sockets()) {
    std::printf("skip: sockets 1.17 crashes in fi_trecvmsg with FI_PEEK\n");
    return;
  }
  if (peek(FI_PEEK, u.fresh()) != 0) return;
  entry_of_b();
  void* const sent = u.fresh();
  w.call("fi_tsend", 30, [&] { return fi_tsend(ep, u.from, 30, u.own, u.to, 8, sent); });
  (void)w.until([&] { return !w.a.seen.empty(); }, 1);
  w.a.seen.clear();  // whether it is over before its receive is the provider's choice
  void* const claimed = u.fresh();
  // The message may not be there yet: then peeking tells FI_ENOMSG, as often as it takes.
  bool there = false;
  const double end = seconds() + 2;
  while (!there && seconds() < end) {
    fi_msg_tagged m{&in, theirs, 1, FI_ADDR_UNSPEC, 8, 0, claimed, 0};
    if (fi_trecvmsg(rx, &m, FI_PEEK | FI_CLAIM | FI_COMPLETION) != 0) break;
    issued["fi_trecvmsg"].count += 1;
    (void)w.until([&] { return !w.b.seen.empty(); }, 3);
    there = !w.b.seen.empty() && w.b.seen[0].rfind("context", 0) == 0;
    if (!there) w.b.seen.clear();
    w.poll(w.a);
    w.poll(w.b);
  }
  w.a.seen.clear();
  w.show();
  std::printf("  %s\n", there ? "claimed" : "not found");
  if (!there) return;
  peek(FI_CLAIM, claimed);
  (void)w.until([&] { return !w.b.seen.empty(); }, 3);
  w.a.seen.clear();
  w.show();
}

/// One buffer for several messages.
void multi_receive(using_world& u) {
  world& w = u.w;
  fid_ep* ep = w.a.ep;
  std::size_t least = 64;
  if (fi_setopt(&w.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least) != 0) {
    std::printf("skip: no FI_OPT_MIN_MULTI_RECV\n");
    return;
  }
  iovec in{u.into, 400};
  void* theirs[1] = {u.their};
  fi_msg m{&in, theirs, 1, FI_ADDR_UNSPEC, u.fresh(), 0};
  if (w.call("fi_recvmsg", 0,
             [&] { return fi_recvmsg(w.b.receiver(), &m, FI_MULTI_RECV | FI_COMPLETION); }) != 0) {
    return;
  }
  for (std::size_t i = 1; i <= 4; ++i) {
    void* const c = u.fresh();
    if (w.call("fi_send", 100, [&] { return fi_send(ep, u.from, 100, u.own, u.to, c); }) != 0) {
      return;
    }
    (void)w.until([&] { return w.a.seen.size() >= i && w.b.seen.size() >= i; }, 5);
  }
  (void)w.until([&] { return w.b.seen.size() >= 5; }, 0.1);  // the release may come on its own
  w.show();
}

void run(const config& of, const std::string& provider) {
  struct family {
    const char* name;
    std::uint64_t caps;
    void (*play)(using_world&);
    bool plain_only;  // not with selective completion, where there is nothing to wait for
  };
  static constexpr family families[] = {
      {"msg", FI_MSG, messages, false},
      {"tagged", FI_TAGGED, tagged, false},
      {"rma", FI_MSG | FI_RMA, rma, false},
      {"atomic", FI_MSG | FI_ATOMIC, atomics, false},
      {"trouble", FI_TAGGED, trouble, true},
      {"peek", FI_TAGGED, peeks, true},
      {"multi-receive", FI_MSG | FI_MULTI_RECV, multi_receive, true}};
  for (const family& one : families) {
    std::printf("== %s %s ==\n", of.name, one.name);
    if (one.plain_only && of.selective) {
      std::printf("skip: nothing to wait for with selective completion\n");
      continue;
    }
    if (one.play == multi_receive && of.format == FI_CQ_FORMAT_CONTEXT) {
      std::printf("skip: entries do not say when the buffer is released\n");
      continue;
    }
    if (provider == "shm" && of.wait == wait_style::sread) {
      std::printf(
          "skip: fi_cq_sread of shm 1.17 does not return while the peer is in the thread\n");
      continue;
    }
    next_context = 0;
    world w(of, provider, one.caps);
    if (w.found != 0) {
      std::printf("skip: the provider says %d\n", w.found);
      continue;
    }
    using_world u(w);
    one.play(u);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s PROVIDER\n", arguments[0]);
    return 2;
  }
  std::string provider = arguments[1];
  std::replace(provider.begin(), provider.end(), '+', ';');
  std::vector<config> all;
  const auto add = [&](const char* name, auto&& change) {
    config one{name};
    change(one);
    all.push_back(one);
  };
  add("plain", [](config&) {});
  add("map", [](config& c) { c.av = FI_AV_MAP; });
  add("sources", [](config& c) { c.wait = wait_style::from; });
  add("sread", [](config& c) { c.wait = wait_style::sread; });
  add("fd", [](config& c) { c.wait = wait_style::fd; });
  add("selective", [](config& c) { c.selective = true; });
  add("selective-asked", [](config& c) {
    c.selective = true;
    c.tx_flags = FI_COMPLETION;
  });
  add("counters", [](config& c) { c.counters = true; });
  add("selective-counters", [](config& c) { c.selective = c.counters = true; });
  add("context-format", [](config& c) { c.format = FI_CQ_FORMAT_CONTEXT; });
  add("msg-format", [](config& c) { c.format = FI_CQ_FORMAT_MSG; });
  add("delivery", [](config& c) { c.tx_flags = FI_DELIVERY_COMPLETE; });
  add("thread-domain", [](config& c) { c.threading = FI_THREAD_DOMAIN; });
  add("connected", [](config& c) { c.type = FI_EP_MSG; });
  add("connected-shared-receive", [](config& c) {
    c.type = FI_EP_MSG;
    c.shared_receive = true;
  });
  add("shared-receive", [](config& c) { c.shared_receive = true; });
  add("datagram", [](config& c) { c.type = FI_EP_DGRAM; });
  for (const config& one : all) run(one, provider);
  std::printf("== issued ==\n");
  for (const auto& [name, sum] : issued) {
    std::printf("%s %llu %llu\n", name.c_str(), static_cast<unsigned long long>(sum.count),
                static_cast<unsigned long long>(sum.bytes));
  }
  return 0;
}
