// SPDX-License-Identifier: Apache-2.0
// One of ten files of a program: a few loops over a grid, each measured; compiled with FABSCOPE=1,
// or with <chrono> and <atomic> only.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "measure.hpp"

namespace {

struct grid {
  std::size_t side;
  std::vector<double> cells;
  double& at(std::size_t x, std::size_t y) { return cells[y * side + x]; }
};

std::unique_ptr<grid> make(std::size_t side) {
  MEASURE("make");
  auto made = std::make_unique<grid>(grid{side, std::vector<double>(side * side)});
  std::iota(made->cells.begin(), made->cells.end(), 1.0);
  return made;
}

double relax(grid& g, int rounds) {
  MEASURE("relax");
  double change = 0;
  for (int n = 0; n < rounds; ++n) {
    MEASURE("round");
    change = 0;
    for (std::size_t y = 1; y + 1 < g.side; ++y) {
      for (std::size_t x = 1; x + 1 < g.side; ++x) {
        const double old = g.at(x, y);
        g.at(x, y) = (g.at(x - 1, y) + g.at(x + 1, y) + g.at(x, y - 1) + g.at(x, y + 1)) / 4;
        change = std::max(change, std::abs(g.at(x, y) - old));
      }
    }
  }
  return change;
}

std::string describe(const grid& g) {
  MEASURE("describe");
  std::vector<double> sorted = g.cells;
  std::sort(sorted.begin(), sorted.end());
  std::string text = "median " + std::to_string(sorted[sorted.size() / 2]);
  for (const double value : {sorted.front(), sorted.back()}) text += ", " + std::to_string(value);
  return text;
}

}  // namespace

double PART() {
  MEASURE("part");
  const auto g = make(32);
  const double change = relax(*g, 10);
  std::printf("%s\n", describe(*g).c_str());
  return change;
}
