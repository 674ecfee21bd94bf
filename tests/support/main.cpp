// SPDX-License-Identifier: Apache-2.0
// The one doctest main that every test program links.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
