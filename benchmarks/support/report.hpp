// SPDX-License-Identifier: Apache-2.0
// Collects the repetitions of every row and prints the table and the JSON file.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include <support/row.hpp>

namespace bench {

/// Google Benchmark hands over each row's repetitions; print() gives the one with the median ratio.
class report : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

  /// Table to standard output: budgets first, then what is only there for comparison.
  void print() const;
  /// False if the file could not be written.
  [[nodiscard]] bool write_json(const std::string& path) const;

 private:
  struct result {
    const row* what;
    figures value;
    double ratio;
  };
  [[nodiscard]] std::vector<result> results() const;

  std::map<std::string, std::vector<figures>> repetitions_;
};

}  // namespace bench
