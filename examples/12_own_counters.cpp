// SPDX-License-Identifier: Apache-2.0
// Counters of your own beside those of NICs: here, the page faults of this process.
#include <fabscope/nic.hpp>

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

class fault_source {
 public:
  fault_source() {
    for (const char* name : {"minor_faults", "major_faults"}) {
      fabscope::nic::counter_column one;
      one.device = "process";
      one.name = name;
      one.unit = "events";
      columns_.push_back(one);
    }
  }
  std::span<const fabscope::nic::counter_column> columns() const noexcept { return columns_; }
  bool open() noexcept { return true; }
  void close() noexcept {}
  bool read(std::uint64_t* values, fabscope::sample_state* states) noexcept {
    rusage used{};
    const bool good = ::getrusage(RUSAGE_SELF, &used) == 0;
    values[0] = static_cast<std::uint64_t>(used.ru_minflt);
    values[1] = static_cast<std::uint64_t>(used.ru_majflt);
    for (int i = 0; i < 2; ++i) {
      states[i] = good ? fabscope::sample_state::good : fabscope::sample_state::missing;
    }
    return true;  // false: it is gone, open it again later
  }

 private:
  std::vector<fabscope::nic::counter_column> columns_;
};
static_assert(fabscope::nic::counter_source<fault_source>);

int main() {
  fabscope::nic::sweep all;
  all.add_source(fault_source{});
  std::vector<std::uint64_t> values(all.columns().size());
  std::vector<fabscope::sample_state> states(all.columns().size());
  fabscope::counter_rate faults(all.columns()[0].format);

  for (int sample = 0; sample < 2; ++sample) {
    const std::uint64_t now = fabscope::monotonic_ns();
    all.read(now, false, values.data(), states.data());
    faults.add(now, values[0]);
    std::vector<char> touched(16 << 20, 1);  // some thousand pages
    asm volatile("" : : "r"(touched.data()) : "memory");
  }
  std::printf("%s:%s grew by %llu\n", all.columns()[0].device.c_str(),
              all.columns()[0].name.c_str(), static_cast<unsigned long long>(faults.total()));
  return faults.total() > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
