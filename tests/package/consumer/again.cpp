// SPDX-License-Identifier: Apache-2.0
// A second translation unit with the session: fabscope::session has compiled what is large in it.
#include <fabscope/session.hpp>

bool session_runs_here();

bool session_runs_here() {
  fabscope::session joined;
  return joined.status() == fabscope::errc::ok && joined.view().has_value();
}
