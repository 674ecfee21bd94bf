// SPDX-License-Identifier: Apache-2.0
// The operations whose instructions gate.py counts. With the argument `planted` each has one
// instruction more.
#include "measure.hpp"

#include <cstring>

#include <fabscope/session.hpp>

int main(int argc, char** argv) {
  instructions::planted = argc > 1 && std::strcmp(argv[1], "planted") == 0;
  instructions::containers();
  fabscope::options chosen;
  chosen.run_level = fabscope::level::count;
  chosen.outputs = fabscope::output_none;
  chosen.clock = fabscope::clock_choice::tsc;  // whatever suits this machine: one way of counting
  chosen.period_ms = 60000;                    // the collector sleeps
  fabscope::session session(chosen);
  if (session.status() != fabscope::errc::ok) return 1;
  instructions::scopes();
  session.enable(false);
  instructions::scopes_disabled();
  session.enable(true);
#ifdef WITH_FABRIC
  instructions::fabric();
#endif
  return 0;
}
