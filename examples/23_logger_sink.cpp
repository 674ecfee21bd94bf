// SPDX-License-Identifier: Apache-2.0
// A sink that hands what is slow to the logger that the program has anyway; the rest is filtered,
// and counted as such.
#include <array>
#include <cstdio>
#include <fabscope/session.hpp>
#include <fabscope/sink/text_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace fabscope::literals;

/// `Log` is called as log(std::string_view), for example [](auto line) { spdlog::warn(line); }. It
/// runs in the collector's thread and must not throw; a scope of its own would be recorded again.
template <class Log>
class logger_sink {
 public:
  logger_sink(Log log, std::uint64_t slow_ns) : log_(log), slow_ns_(slow_ns) {}

  void consume(std::span<const fabscope::scope_record> batch,
               const fabscope::sink_context& about) noexcept {
    for (const fabscope::scope_record& scope : batch) {
      const std::uint64_t ns = about.ns(scope.end) - about.ns(scope.header.ticks);
      if (ns < slow_ns_) {
        ++filtered_;
        continue;
      }
      std::array<char, 512> room;
      fabscope::text_writer line(room);
      line.text(about.label(scope.name)).text(" took ").fixed3(ns).text(" us in thread ");
      line.u64(about.tid(scope.header.thread));
      log_(line.view());
    }
  }
  void flush(const fabscope::sink_context&) noexcept {}
  std::uint64_t filtered_total() const noexcept { return filtered_; }

 private:
  Log log_;
  std::uint64_t slow_ns_;
  std::uint64_t filtered_ = 0;
};

int main() {
  std::vector<std::string> log;  // stands for the program's logger
  const auto warn = [&log](std::string_view line) { log.emplace_back(line); };
  fabscope::options chosen;
  chosen.outputs = fabscope::output_none;  // else scopes.jsonl takes what this sink filters
  fabscope::session session(chosen);
  session.add_sink(logger_sink(warn, 2'000'000));
  volatile double value = 1;
  for (int n = 0; n < 100; ++n) const fabscope::scope fast{"fast"_name};
  {
    const fabscope::scope slow{"slow"_name};
    for (int n = 0; n < 10'000'000; ++n) value = value * 1.0000001;
  }
  session.finish();
  const fabscope::record_totals totals = session.totals();
  std::size_t slow = 0;
  for (const std::string& line : log) slow += line.rfind("slow took ", 0) == 0 ? 1U : 0U;
  std::printf("%zu lines, %s\n", log.size(), log.empty() ? "" : log[0].c_str());
  return slow == 1 && totals.produced == 101 && totals.written == log.size() &&
                 totals.filtered == 101 - log.size()
             ? 0
             : 1;
}
