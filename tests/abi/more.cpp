// SPDX-License-Identifier: Apache-2.0
// A second translation unit of the executable: scopes only.
#include "work.hpp"

void record_elsewhere() { record_hundred<"more">(1000); }
