// SPDX-License-Identifier: Apache-2.0
#include <support/report.hpp>

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

double ratio_of(const figures& value) {
  return value.reference > 0 ? value.ours / value.reference : value.ours;
}

// A row within 10 % above its budget passes with a remark: the machines differ by that much by
// themselves.
const char* verdict(double ratio, double budget) {
  if (ratio <= budget) return "met";
  return ratio <= budget * 1.1 ? "met*" : "not met";
}

// What may cost nothing has the smallest budget, because 0 stands for no budget.
double shown(double budget) { return budget < 1e-6 ? 0 : budget; }

}  // namespace

void report::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    repetitions_[run.run_name.function_name].push_back(
        {run.counters.at("ours"), run.counters.at("reference")});
  }
}

std::vector<report::result> report::results() const {
  std::vector<result> out;
  for (const row& what : rows()) {
    const auto found = repetitions_.find(what.name);
    if (found == repetitions_.end()) continue;
    std::vector<figures> all = found->second;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end(),
                     [](const figures& a, const figures& b) { return ratio_of(a) < ratio_of(b); });
    out.push_back({&what, *middle, ratio_of(*middle)});
  }
  return out;
}

void report::print() const {
  const std::vector<result> all = results();
  std::printf("\n%-35s %8s %9s %-5s %6s  %-8s %-7s %s\n", "row", "ours", "reference", "unit",
              "ratio", "budget", "", "reference is");
  bool close = false;
  for (const result& r : all) {
    if (r.what->budget == 0) continue;
    const char* said = verdict(r.ratio, r.what->budget);
    close = close || std::string_view(said) == "met*";
    std::printf("%-35s %8.2f %9.2f %-5s %6.3f  <= %-5.3g %-7s %s%s%s\n", r.what->name.c_str(),
                r.value.ours, r.value.reference, r.what->unit, r.ratio, shown(r.what->budget), said,
                r.what->reference.c_str(), r.what->remark.empty() ? "" : "; ",
                r.what->remark.c_str());
  }
  if (close) std::printf("met*: above the budget by no more than 10 %%\n");
  bool first = true;
  for (const result& r : all) {
    if (r.what->budget != 0) continue;
    if (first)
      std::printf("\n%-35s %8s %9s %-5s %6s  %s\n", "for comparison", "cost", "reference", "unit",
                  "ratio", "reference is");
    first = false;
    if (const std::string why = r.what->absent ? r.what->absent() : ""; !why.empty()) {
      std::printf("%-35s not available: %s\n", r.what->name.c_str(), why.c_str());
      continue;
    }
    std::printf("%-35s %8.2f %9.2f %-5s %6.3f  %s%s%s\n", r.what->name.c_str(), r.value.ours,
                r.value.reference, r.what->unit, r.ratio, r.what->reference.c_str(),
                r.what->remark.empty() ? "" : "; ", r.what->remark.c_str());
  }
}

bool report::write_json(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const char* before = "[\n";
  for (const result& r : results()) {
    if (r.what->budget == 0) continue;
    // Names and units are plain words: nothing to escape.
    std::fprintf(file,
                 "%s  {\"name\": \"%s\", \"ours\": %.4f, \"reference\": %.4f, \"unit\": \"%s\", "
                 "\"ratio\": %.4f, \"budget\": %.4g, \"met\": %s}",
                 before, r.what->name.c_str(), r.value.ours, r.value.reference, r.what->unit,
                 r.ratio, shown(r.what->budget),
                 r.ratio <= r.what->budget * 1.1 ? "true" : "false");
    before = ",\n";
  }
  std::fprintf(file, "\n]\n");
  return std::fclose(file) == 0;
}

}  // namespace bench
