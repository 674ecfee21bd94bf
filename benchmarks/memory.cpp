// SPDX-License-Identifier: Apache-2.0
// memory: what a session keeps resident with eight recording threads that each talk to 4,096 peers,
// on a provider that moves nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <fabscope/fabric/instrument.hpp>
#include <fabscope/session.hpp>

#include <support/fake_provider.hpp>
#include <support/row.hpp>

namespace bench {
namespace {

constexpr unsigned recording = 8;
constexpr std::size_t peers = 4096;
constexpr double budget_mib = 32;

double resident_kib() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long value = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "VmRSS: %lu", &value) == 1) break;
  }
  (void)std::fclose(file);
  return static_cast<double>(value);
}

struct pair {
  fake_queue queue;
  fake_endpoint endpoint;
};

/// Every thread sends to every peer a few times, so that all rows there can be are in use.
void talk(pair& on, const std::vector<fi_addr_t>& to) {
  using namespace fabscope::literals;
  char buffer[64] = {};
  fi_cq_tagged_entry entry;
  for (int round = 0; round < 3; ++round) {
    const fabscope::scope each{"round"_name};
    for (const fi_addr_t peer : to) {
      (void)fi_tsend(&on.endpoint.object, buffer, 1024, nullptr, peer, 7, buffer);
      (void)fi_cq_read(&on.queue.object, &entry, 1);
    }
  }
}

/// Runs this program again, as print_resident; its first output is the answer.
figures in_a_fresh_process(double) {
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return {};
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::dup2(ends[1], STDOUT_FILENO);
    (void)::execl(self, self, resident_argument, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  (void)::close(ends[1]);
  char text[64] = {};
  const ssize_t size = ::read(ends[0], text, sizeof text - 1);
  (void)::close(ends[0]);
  (void)::waitpid(child, nullptr, 0);
  return {size > 0 ? std::strtod(text, nullptr) : 0, budget_mib};
}

}  // namespace

int print_resident() {
  std::vector<std::unique_ptr<pair>> pairs;
  for (unsigned i = 0; i < recording; ++i) pairs.push_back(std::make_unique<pair>());
  fake_addresses addresses;
  std::vector<fi_addr_t> to(peers);
  std::vector<char> names(peers * 8);
  for (std::size_t i = 0; i < peers; ++i) std::snprintf(&names[i * 8], 8, "p%zu", i);
  const double before = resident_kib();

  fabscope::options chosen;
  chosen.outputs = fabscope::output_none;
  fabscope::session session(chosen);
  fi_info* about = fi_allocinfo();
  about->addr_format = FI_ADDR_STR;
  about->ep_attr->type = FI_EP_RDM;
  about->domain_attr->name = ::strdup("fake");
  bool good = fabscope::fabric::instrument(&addresses.object, FI_ADDR_STR);
  (void)fi_av_insert(&addresses.object, names.data(), peers, to.data(), 0, nullptr);
  for (const auto& one : pairs) {
    good = good && fabscope::fabric::instrument(&one->queue.object, FI_CQ_FORMAT_TAGGED) &&
           fabscope::fabric::instrument(&one->endpoint.object, about);
    (void)fi_ep_bind(&one->endpoint.object, &addresses.object.fid, 0);
    (void)fi_ep_bind(&one->endpoint.object, &one->queue.object.fid, FI_TRANSMIT | FI_RECV);
    (void)fi_enable(&one->endpoint.object);
  }
  fi_freeinfo(about);
  std::atomic<unsigned> done{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> threads;
  for (const auto& one : pairs) {
    threads.emplace_back([&, on = one.get()] {
      talk(*on, to);
      done.fetch_add(1);
      while (!leave.load()) std::this_thread::yield();  // all eight are there at one time
    });
  }
  while (done.load() != recording) std::this_thread::yield();
  session.flush();
  std::printf("%.3f\n", good ? (resident_kib() - before) / 1024 : 0.0);
  leave.store(true);
  for (std::thread& one : threads) one.join();
  return 0;
}

void add_memory_rows() {
  row resident{"memory", "the budget", 1};
  resident.measure = in_a_fresh_process;
  resident.unit = "MiB";
  rows().push_back(resident);
}

}  // namespace bench
