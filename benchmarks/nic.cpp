// SPDX-License-Identifier: Apache-2.0
// nic_sample: one sample of 110 counters against 110 bare reads of the same open files, back to
// back and once a millisecond. The files are a stand-in for a driver's, in memory, and all change
// in each sample.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fabscope/nic/sampler.hpp>

#include <support/row.hpp>

#include "../tests/support/fake_tree.hpp"

namespace bench {
namespace {

constexpr std::size_t counters = 110;
constexpr double budget = 1.3;

/// The files, and what makes them all move.
struct files {
  fake::tree tree;
  std::vector<char*> digits;
  std::vector<int> open_files;

  files() {
    const std::string telemetry = tree.cxi(0, "0000:41:00.0");
    for (std::size_t i = 0; i < counters; ++i) {
      char name[128];
      std::snprintf(name, sizeof name, "%s/hni_test_%03zu", telemetry.c_str(), i);
      tree.write(name, "000123456789000@1700000000.123456789\n");
      const std::string path = tree.base() + "/" + name;
      const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (fd < 0 || at == MAP_FAILED) std::abort();
      digits.push_back(static_cast<char*>(at));
      open_files.push_back(fd);
    }
  }
  files(const files&) = delete;
  files& operator=(const files&) = delete;
  ~files() {
    for (char* at : digits) ::munmap(at, 4096);
    for (const int fd : open_files) ::close(fd);
  }

  /// The three lowest digits of every counter.
  void move(std::size_t step) const noexcept {
    for (char* at : digits) {
      at[12] = static_cast<char>('0' + step / 100 % 10);
      at[13] = static_cast<char>('0' + step / 10 % 10);
      at[14] = static_cast<char>('0' + step % 10);
    }
  }
  void read_bare() const noexcept {
    for (const int fd : open_files) {
      char text[64];
      const ssize_t size = ::pread(fd, text, sizeof text - 1, 0);
      asm volatile("" : : "r"(size), "r"(text) : "memory");
    }
  }
};

struct sampling {
  std::vector<fabscope::nic_block_row> blocks = std::vector<fabscope::nic_block_row>(256);
  fabscope::nic_sampler_row row;
  std::unique_ptr<fabscope::nic::sampler> runs;

  sampling(const files& from, std::uint64_t period_ns) {
    fabscope::nic::counter_selection wanted("hni_test_*");
    fabscope::nic::sweep what;
    what.add_devices(fabscope::nic::find_devices(from.tree.roots()), wanted);
    if (what.columns().size() != counters) std::abort();
    runs = std::make_unique<fabscope::nic::sampler>(
        std::move(what), std::vector<fabscope::nic::node_lock>(), fabscope::nic::lock_holder{},
        period_ns, best_clock());
    if (!runs->start(blocks.data(), blocks.size(), &row)) std::abort();
  }
};

row back_to_back() {
  auto from = std::make_shared<files>();
  // Its own thread samples once an hour; this one does it in between.
  auto ours = std::make_shared<sampling>(*from, 3'600'000'000'000U);
  while (fabscope::acquire_load(ours->row.samples) == 0) std::this_thread::yield();
  auto step = std::make_shared<std::size_t>(0);
  return {"nic_sample",
          "110 bare pread",
          budget,
          {{"sample",
            [from, ours, step](std::size_t n, unsigned) {
              for (std::size_t i = 0; i < n; ++i) {
                from->move(++*step);
                ours->runs->sample({});
              }
            }},
           {"110 bare pread", [from, step](std::size_t n, unsigned) {
              for (std::size_t i = 0; i < n; ++i) {
                from->move(++*step);
                from->read_bare();
              }
            }}}};
}

std::uint64_t thread_cpu_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

/// Processor time of a sample, in a thread that sleeps until the next millisecond in between.
figures each_millisecond(double seconds) {
  const files from;
  const auto length = static_cast<long>(seconds * 1e9);
  const timespec pause{length / 1'000'000'000, length % 1'000'000'000};
  figures out;
  {
    sampling ours(from, 1'000'000);
    ::nanosleep(&pause, nullptr);
    (void)ours.runs->stop(1'000'000'000);
    out.ours = static_cast<double>(ours.row.cpu_ns) / static_cast<double>(ours.row.samples);
  }
  std::thread bare([&] {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    std::uint64_t samples = 0;
    fabscope::nic::cadence when(fabscope::monotonic_ns(), 1'000'000);
    const std::uint64_t end = fabscope::monotonic_ns() + static_cast<std::uint64_t>(length);
    for (std::uint64_t now = 0; (now = fabscope::monotonic_ns()) < end; ++samples) {
      (void)when.take(now);
      from.read_bare();
      while ((now = fabscope::monotonic_ns()) < when.due_ns()) {
        const timespec left{0, static_cast<long>(when.due_ns() - now)};
        ::ppoll(nullptr, 0, &left, nullptr);
      }
    }
    out.reference = static_cast<double>(thread_cpu_ns()) / static_cast<double>(samples);
  });
  bare.join();
  return out;
}

}  // namespace

void add_nic_rows() {
  rows().push_back(back_to_back());
  row one;
  one.name = "nic_sample/1_ms";
  one.reference = "110 bare pread a millisecond";
  one.budget = budget;
  one.measure = each_millisecond;
  rows().push_back(one);
}

}  // namespace bench
