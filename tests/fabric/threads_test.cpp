// SPDX-License-Identifier: Apache-2.0
// Threads that issue, poll, cancel and close at the same time.
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <fabscope/fabric.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/fake_provider.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using fabric_test::recorded;

/// A provider for many threads: what is sent completes on the queue; receives stay until cancelled.
struct shared_queue {
  fid_cq object{};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::deque<void*> done;
  std::deque<void*> posted;
  std::deque<void*> cancelled;
};
shared_queue* provider;

struct held {
  held() { pthread_mutex_lock(&provider->mutex); }
  ~held() { pthread_mutex_unlock(&provider->mutex); }
};

fi_ops_msg msg_table() {
  fi_ops_msg t{};
  t.size = sizeof t;
  t.send = [](fid_ep*, const void*, size_t, void*, fi_addr_t, void* context) -> ssize_t {
    const held lock;
    if (provider->done.size() > 64) return -FI_EAGAIN;
    provider->done.push_back(context);
    return 0;
  };
  t.recv = [](fid_ep*, void*, size_t, void*, fi_addr_t, void* context) -> ssize_t {
    const held lock;
    provider->posted.push_back(context);
    return 0;
  };
  return t;
}
fi_ops_ep ep_table() {
  fi_ops_ep t{};
  t.size = sizeof t;
  t.cancel = [](fid*, void* context) -> ssize_t {
    const held lock;
    for (auto at = provider->posted.begin(); at != provider->posted.end(); ++at) {
      if (*at != context) continue;
      provider->posted.erase(at);
      provider->cancelled.push_back(context);
      return 0;
    }
    return -FI_ENOENT;
  };
  return t;
}
fi_ops_cq cq_table() {
  fi_ops_cq t{};
  t.size = sizeof t;
  t.read = [](fid_cq*, void* out, size_t count) -> ssize_t {
    const held lock;
    if (!provider->cancelled.empty()) return -FI_EAVAIL;
    size_t n = 0;
    for (; n < count && !provider->done.empty(); ++n) {
      static_cast<fi_cq_entry*>(out)[n].op_context = provider->done.front();
      provider->done.pop_front();
    }
    return n == 0 ? -FI_EAGAIN : static_cast<ssize_t>(n);
  };
  t.readerr = [](fid_cq*, fi_cq_err_entry* out, uint64_t) -> ssize_t {
    const held lock;
    if (provider->cancelled.empty()) return -FI_EAGAIN;
    *out = {};
    out->op_context = provider->cancelled.front();
    out->err = FI_ECANCELED;
    provider->cancelled.pop_front();
    return 1;
  };
  return t;
}

TEST_CASE("fabric.threads: every context comes back once while others cancel and close") {
  recorded session;
  auto queue = std::make_unique<shared_queue>();
  provider = queue.get();
  static fi_ops_msg msg = msg_table();
  static fi_ops_ep ops = ep_table();
  static fi_ops_cq cq_ops = cq_table();
  queue->object.fid.fclass = FI_CLASS_CQ;
  static fi_ops cq_fid{};
  cq_fid.size = sizeof cq_fid;
  cq_fid.close = [](fid*) -> int { return 0; };
  queue->object.fid.ops = &cq_fid;
  queue->object.ops = &cq_ops;
  fake::info info;
  REQUIRE(fabric::instrument(&queue->object, FI_CQ_FORMAT_CONTEXT));
  const auto open = [&](fake::endpoint& ep) {
    fake::open(ep);
    ep.object.msg = &msg;
    ep.object.ops = &ops;
    REQUIRE(fabric::instrument(&ep.object, &info.object));
    REQUIRE(fi_ep_bind(&ep.object, &queue->object.fid, FI_TRANSMIT | FI_RECV) == 0);
  };

  constexpr int senders = 2;
  constexpr int pollers = 2;
  constexpr int each = 5000;
  fake::endpoint endpoints[senders];
  for (fake::endpoint& ep : endpoints) open(ep);
  fake::endpoint receiver;
  open(receiver);

  // Contexts are the addresses of these counters.
  std::vector<std::atomic<int>> seen(senders * each);
  std::atomic<int> wrong{0};
  std::atomic<int> finished{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::vector<std::thread> threads;
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      for (int i = 0; i < each; ++i) {
        char byte = 0;
        while (fi_send(&endpoints[s].object, &byte, 1, nullptr, 0,
                       &seen[static_cast<std::size_t>(s * each + i)]) != 0) {
          std::this_thread::yield();
        }
      }
    });
  }
  for (int p = 0; p < pollers; ++p) {
    threads.emplace_back([&] {
      fi_cq_entry entries[8];
      while (finished.load() < senders * each) {
        const ssize_t got = fi_cq_read(&queue->object, entries, 8);
        if (got == -FI_EAVAIL) {
          fi_cq_err_entry error{};
          if (fi_cq_readerr(&queue->object, &error, 0) == 1) {
            if (error.op_context == &wrong)
              ++cancelled;
            else
              ++wrong;
          }
        }
        for (ssize_t i = 0; i < got; ++i) {
          auto* context = static_cast<std::atomic<int>*>(entries[i].op_context);
          if (context < seen.data() || context >= seen.data() + seen.size()) {
            ++wrong;
            continue;
          }
          context->fetch_add(1);
          ++finished;
        }
        if (got <= 0) std::this_thread::yield();
      }
    });
  }
  // Meanwhile: receives are posted and cancelled, and endpoints come and go with receives on them.
  std::uint64_t posted = 0;
  std::uint64_t accepted = 0;
  for (int i = 0; i < 200; ++i) {
    char byte;
    for (int n = 0; n < 3; ++n) {
      if (fi_recv(&receiver.object, &byte, 1, nullptr, 0, &wrong) == 0) ++posted;
    }
    for (int n = 0; n < 3; ++n) {
      if (fi_cancel(&receiver.object.fid, &wrong) == 0) ++accepted;
    }
    fake::endpoint brief;
    open(brief);
    REQUIRE(fi_recv(&brief.object, &byte, 1, nullptr, 0, &byte) == 0);
    REQUIRE(fi_close(&brief.object.fid) == 0);
    {
      const held lock;  // a provider drops what belonged to a closed endpoint
      provider->posted.clear();
    }
  }
  for (std::thread& one : threads) one.join();
  fi_cq_err_entry error{};
  while (fi_cq_readerr(&queue->object, &error, 0) == 1) {
    CHECK(error.op_context == &wrong);
    ++cancelled;
  }

  CHECK(wrong.load() == 0);
  for (const std::atomic<int>& one : seen) {
    if (one.load() != 1) FAIL("a context came back ", one.load(), " times");
  }
  CHECK(accepted == posted);
  CHECK(cancelled.load() == posted);
  CHECK(session.count(fs::operation::send) == senders * each);
  CHECK(session.failures(fs::operation::recv, fs::failure_stage::completion, FI_ECANCELED) ==
        posted);
  CHECK(session.failures(fs::operation::recv, fs::failure_stage::closed, 0) == 200);
  for (fake::endpoint& ep : endpoints) CHECK(fi_close(&ep.object.fid) == 0);
  CHECK(fi_close(&receiver.object.fid) == 0);
  CHECK(fi_close(&queue->object.fid) == 0);
  CHECK(fabric::detail::pool().in_use() == 0);
}

}  // namespace
