// SPDX-License-Identifier: Apache-2.0
#include <support/harness.hpp>
#include <support/thread_clock.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace bench {
namespace {

// Long against a reading of the thread's CPU time and short against a time slice.
constexpr double block_ns = 200e3;

std::uint64_t all_blocks = 0;
std::uint64_t set_aside = 0;

struct block {
  double ns = 0;  ///< CPU time per operation
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool sound = false;
};

block run_block(const lane& what, unsigned thread) {
  block out;
  const long switches = preemptions();
  out.begin = wall_ns();
  const std::uint64_t begin = thread_cpu_ns();
  what.body(what.count, thread);
  const std::uint64_t end = thread_cpu_ns();
  out.end = wall_ns();
  const double took = what.took ? what.took() : static_cast<double>(end - begin);
  out.ns = took / static_cast<double>(what.count);
  out.sound = preemptions() == switches;
  return out;
}

/// The second thread of the lanes that have two: sleeps until it is given a block to run along.
class partner {
 public:
  partner() : thread_([this] { work(); }) {}
  ~partner() {
    lane_ = nullptr;
    turn_.fetch_add(1);
    turn_.notify_one();
    thread_.join();
  }

  block run(const lane& what) {
    lane_ = &what;
    ready_.store(0);
    done_.store(false);
    turn_.fetch_add(1);
    turn_.notify_one();
    meet();
    block mine = run_block(what, 0);
    while (!done_.load(std::memory_order_acquire)) fabscope::cpu_relax();
    const auto overlap = static_cast<double>(std::min(mine.end, theirs_.end)) -
                         static_cast<double>(std::max(mine.begin, theirs_.begin));
    const auto length =
        static_cast<double>(std::min(mine.end - mine.begin, theirs_.end - theirs_.begin));
    mine.sound = mine.sound && theirs_.sound && overlap > 0.8 * length;
    mine.ns = (mine.ns + theirs_.ns) / 2;
    return mine;
  }

 private:
  void meet() {
    ready_.fetch_add(1);
    while (ready_.load() != 2) fabscope::cpu_relax();
  }
  void work() {
    pin_to(1);
    std::uint32_t seen = 0;
    for (;;) {
      turn_.wait(seen);
      seen = turn_.load();
      if (lane_ == nullptr) return;
      meet();
      theirs_ = run_block(*lane_, 1);
      done_.store(true, std::memory_order_release);
    }
  }

  const lane* lane_ = nullptr;
  block theirs_;
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<int> ready_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: it uses all the others
};

// The first call pays for first touches, so only a second one of the same length says how long it
// takes.
void find_count(lane& what) {
  for (what.count = 64;; what.count *= 4) {
    double took = 0;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t begin = thread_cpu_ns();
      what.body(what.count, 0);
      took = static_cast<double>(thread_cpu_ns() - begin);
    }
    if (took < block_ns / 4) continue;
    what.count = std::max<std::size_t>(
        1, static_cast<std::size_t>(static_cast<double>(what.count) * block_ns / took));
    break;
  }
  if (what.sound) (void)what.sound(what.count);
}

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

figures measure(row& what, double seconds) {
  if (what.absent && !what.absent().empty()) return {};
  if (what.measure) return what.measure(seconds);
  unsigned phases = 1;
  bool two = false;
  for (const lane& one : what.lanes) {
    phases = std::max(phases, one.phase + 1);
    two = two || one.threads == 2;
  }
  std::vector<std::vector<double>> kept(what.lanes.size());
  for (unsigned phase = 0; phase < phases; ++phase) {
    if (what.enter) what.enter(phase);
    {
      std::vector<partner> second(two ? 1 : 0);
      const std::uint64_t begin = wall_ns();
      const auto enough = begin + static_cast<std::uint64_t>(seconds * 1e9 / phases);
      const auto too_long = begin + static_cast<std::uint64_t>(seconds * 5e9 / phases);
      std::size_t fewest = 0;
      for (std::uint64_t now = begin; now < enough || (fewest < 5 && now < too_long);
           now = wall_ns()) {
        fewest = ~std::size_t{0};
        for (std::size_t i = 0; i < what.lanes.size(); ++i) {
          lane& one = what.lanes[i];
          if (one.phase != phase) continue;
          if (one.count == 0) find_count(one);
          block result = one.threads == 2 ? second[0].run(one) : run_block(one, 0);
          if (one.sound && !one.sound(one.count)) result.sound = false;
          ++all_blocks;
          if (result.sound) kept[i].push_back(result.ns);
          set_aside += result.sound ? 0U : 1U;
          fewest = std::min(fewest, kept[i].size());
        }
      }
    }
    if (what.leave) what.leave(phase);
  }
  std::vector<double> medians;
  for (auto& values : kept) medians.push_back(median(values));
  return what.combine ? what.combine(medians) : figures{medians[0], medians[1]};
}

void add_with_threads(const char* name, double budget, row common) {
  common.name = name;
  common.budget = budget;
  rows().push_back(common);
  lane together = common.lanes[0];
  together.threads = 2;
  common.lanes = {together, common.lanes[0]};
  common.name = std::string("two_threads/") + name;
  common.reference = "the same with one thread";
  common.budget = budget > 0 ? 1.05 : 0;
  rows().push_back(std::move(common));
}

double disturbed_share() {
  return all_blocks == 0 ? 0 : static_cast<double>(set_aside) / static_cast<double>(all_blocks);
}

}  // namespace bench
