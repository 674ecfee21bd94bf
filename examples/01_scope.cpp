// SPDX-License-Identifier: Apache-2.0
#include <fabscope/session.hpp>
using namespace fabscope::literals;

int main() {
  fabscope::session session;
  for (int round = 0; round < 100; ++round) {
    fabscope::step step{round};
    fabscope::scope whole{"round"_name};
    fabscope::scope copy{"copy"_name, 4096};
    volatile char buffer[4096];
    for (char volatile& byte : buffer) byte = 1;
  }
  return session.status() == fabscope::errc::ok ? 0 : 1;
}
