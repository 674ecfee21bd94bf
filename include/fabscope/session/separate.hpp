// SPDX-License-Identifier: Apache-2.0
// Whether what is large in session.hpp and report.hpp is compiled in each file that includes them,
// or in one file of the module. Layer: session.
#pragma once

#ifdef FABSCOPE_SEPARATE_SESSION
#define FABSCOPE_SESSION_INLINE
#else
#define FABSCOPE_SESSION_INLINE inline
#endif
