// SPDX-License-Identifier: Apache-2.0
// A sink of one's own: typed overloads over batches. This one keeps the slowest scope.
#include <cstdio>
#include <fabscope/session.hpp>
#include <span>
#include <string>

using namespace fabscope::literals;

class slowest_scope {
 public:
  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const fabscope::scope_record& scope : batch) {
      const std::uint64_t ns = about.ns(scope.end) - about.ns(scope.header.ticks);
      if (ns < ns_) continue;
      ns_ = ns;
      name_ = about.label(scope.name);
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}
  void finish(const fabscope::sink_context&) noexcept {
    std::printf("slowest: %s, %llu ns\n", name_.c_str(), static_cast<unsigned long long>(ns_));
  }
  const std::string& name() const { return name_; }

 private:
  std::uint64_t ns_ = 0;
  std::string name_;
};

int main() {
  fabscope::session session;
  slowest_scope slowest;
  session.add_sink(slowest);
  volatile double value = 1;
  for (int n = 0; n < 100; ++n) {
    const fabscope::scope fast{"fast"_name};
    value = value + 1;
  }
  {
    const fabscope::scope slow{"slow"_name};
    for (int n = 0; n < 10'000'000; ++n) value = value * 1.0000001;
  }
  session.finish();
  return slowest.name() == "slow" ? 0 : 1;
}
