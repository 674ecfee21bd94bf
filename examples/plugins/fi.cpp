// SPDX-License-Identifier: Apache-2.0
// libfabscope-fi.so: libfabric loads it and lets it hook every fabric that a program opens. Nothing
// is preloaded, and programs that load libfabric themselves are reached too.
//
//   FI_PROVIDER_PATH=<folder of libfabscope-fi.so> FI_HOOK=fabscope ./program
//
// Use it or libfabscope-preload.so, not both.
#include <fabscope/fabric/hook_provider.hpp>
#include <fabscope/session.hpp>

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini();

extern "C" fi_provider* fi_prov_ini() { return fabscope::fabric::hook_provider("fabscope"); }
