// SPDX-License-Identifier: Apache-2.0
// fabscope-benchmarks: what fabscope costs, against bare clock reads and against other ways to do
// it.
//   fabscope-benchmarks [--quick] [--json=FILE] [--commit=ID] [--benchmark_filter=REGEX] [...]
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <support/harness.hpp>
#include <support/report.hpp>
#include <support/thread_clock.hpp>

namespace {

constexpr int repetitions = 9;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// One repetition; which rows' repetitions follow one another is Google Benchmark's choice.
void run(benchmark::State& state, bench::row* what, double seconds) {
  static std::size_t done = 0;
  bench::figures value;
  for (auto _ : state) {
    value = bench::measure(*what, seconds);
    state.SetIterationTime(value.ours * 1e-9);
  }
  state.counters["ours"] = value.ours;
  state.counters["reference"] = value.reference;
  ++done;
  if (::isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "\r%zu of %zu measurements ", done, bench::rows().size() * repetitions);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == bench::resident_argument) {
    return bench::print_resident();
  }
  bool quick = false;
  std::string json;
  std::string commit = "unknown";
  // Rows are separate benchmarks whose repetitions are interleaved at random.
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> others = {argv[0], interleave.data()};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument.rfind("--json=", 0) == 0) {
      json = argument.substr(7);
    } else if (argument.rfind("--commit=", 0) == 0) {
      commit = argument.substr(9);
    } else {
      others.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(others.size());
  benchmark::Initialize(&count, others.data());
  if (benchmark::ReportUnrecognizedArguments(count, others.data())) return 1;

  bench::pin_to(0);
  bench::add_scope_rows();
  bench::add_ring_rows();
  bench::add_pool_rows();
  bench::add_fabric_rows();
  bench::add_text_rows();
  bench::add_sum_rows();
  bench::add_memory_rows();
  bench::add_nic_rows();
  for (bench::row& what : bench::rows()) {
    benchmark::RegisterBenchmark(what.name.c_str(), run, &what, quick ? 0.08 : 0.4)
        ->Iterations(1)
        ->Repetitions(repetitions)
        ->UseManualTime();
  }
  std::printf("%s, %ld processors, g++ %s, -O2, commit %s, clock %s\n", processor_name().c_str(),
              ::sysconf(_SC_NPROCESSORS_ONLN), __VERSION__, commit.c_str(),
              fabscope::to_string(bench::best_clock()));
  std::printf(
      "Median of %d interleaved repetitions, thread CPU time; what is compared runs in turn.\n"
      "Sessions that are flooded on purpose say that records were overwritten.\n",
      repetitions);
  bench::report table;
  benchmark::RunSpecifiedBenchmarks(&table);
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r%40s\r", "");
  table.print();
  std::printf("\n%.0f %% of the blocks were set aside because a thread lost its processor.\n",
              bench::disturbed_share() * 100);
  if (!json.empty()) {
    if (!table.write_json(json)) {
      std::perror(json.c_str());
      return 1;
    }
    std::printf("%s\n", json.c_str());
  }
  return 0;
}
