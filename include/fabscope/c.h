// SPDX-License-Identifier: Apache-2.0
// Scopes and steps for C and for every language that can call C: link libfabscope-c.so or load it.
//
// The first call starts the process's session unless one runs; FABSCOPE_ variables say what it does
// and where its files go, and it ends with the process. All functions may be called from any thread
// and never fail: a call that makes no sense does nothing and is counted by fabscope_ignored.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Opens a scope on the calling thread. Names should be few and fixed: each takes room for good.
/// Not recorded and counted: a scope whose name is null or empty, the 65th and deeper of open
/// scopes. Cost: a look-up under a lock, and what a scope costs.
void fabscope_push(const char* name);

/// Closes the scope that the calling thread opened last. `bytes` and `value` are stated of it, 0 if
/// there is nothing to state. Ignored and counted: a pop without a push.
void fabscope_pop(uint64_t bytes, int64_t value);

/// Ends the calling thread's step, if there is one, and begins the next one.
void fabscope_step(int64_t number);

/// Everything recorded before the call is in the files' buffers, and those are written, after it.
void fabscope_flush(void);

/// Calls that were ignored because they made no sense, in all threads, since the library was
/// loaded.
uint64_t fabscope_ignored(void);

#ifdef __cplusplus
}
#endif
