// SPDX-License-Identifier: Apache-2.0
// A sink that answers while the program runs: the last records, and the slowest of them.
#include <algorithm>
#include <cstdio>
#include <fabscope/session.hpp>
#include <mutex>
#include <span>
#include <string>
#include <vector>

using namespace fabscope::literals;

class recent_scopes {
 public:
  struct entry {
    std::string name;
    std::uint64_t begin_ns;
    std::uint64_t dur_ns;
  };
  explicit recent_scopes(std::size_t most) : ring_(most) {}

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    const std::lock_guard lock(mutex_);  // the collector's thread waits, never a recording one
    for (const fabscope::scope_record& scope : batch) {
      const std::uint64_t begin = about.ns(scope.header.ticks);
      ring_[seen_++ % ring_.size()] = {std::string(about.label(scope.name)), begin,
                                       about.ns(scope.end) - begin};
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}

  /// The newest first.
  std::vector<entry> last(std::size_t count) const {
    const std::lock_guard lock(mutex_);
    count = std::min({count, seen_, ring_.size()});
    std::vector<entry> out;
    for (std::size_t i = 1; i <= count; ++i) out.push_back(ring_[(seen_ - i) % ring_.size()]);
    return out;
  }
  /// Of those that are kept, the slowest first.
  std::vector<entry> slowest(std::size_t count) const {
    std::vector<entry> out = last(ring_.size());
    const auto slower = [](const entry& a, const entry& b) { return a.dur_ns > b.dur_ns; };
    std::sort(out.begin(), out.end(), slower);
    out.resize(std::min(count, out.size()));
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<entry> ring_;
  std::size_t seen_ = 0;
};

int main() {
  fabscope::session session;
  recent_scopes recent(64);
  session.add_sink(recent);
  volatile double value = 1;
  for (int n = 0; n < 1000; ++n) {
    const fabscope::scope fast{"fast"_name};
  }
  {
    const fabscope::scope slow{"slow"_name};
    for (int n = 0; n < 10'000'000; ++n) value = value * 1.0000001;
  }
  session.flush();  // what was recorded until here is with the sink; the session goes on
  const auto slowest = recent.slowest(3);
  const auto last = recent.last(100);
  for (const auto& one : slowest) {
    std::printf("%s %llu ns\n", one.name.c_str(), static_cast<unsigned long long>(one.dur_ns));
  }
  return slowest.size() == 3 && slowest[0].name == "slow" && last.size() == 64 &&
                 last[0].name == "slow" && last[1].name == "fast"
             ? 0
             : 1;
}
