// SPDX-License-Identifier: Apache-2.0
// libfabscope-preload.so: measures a program that uses libfabric and cannot be rebuilt.
//
//   LD_PRELOAD=libfabscope-preload.so ./program
//
// Only fi_fabric and fi_fabric2 are interposed: everything else that matters is reached through the
// objects that they open. A program that opens no fabric is not touched.
//
// Where one is opened, the hardware counters of the NICs that the program uses are sampled as well;
// FABSCOPE_NIC=off leaves them alone.
#include <fabscope/fabric.hpp>
#include <fabscope/nic.hpp>
#include <fabscope/session.hpp>

extern "C" {

__attribute__((visibility("default"))) int fi_fabric(fi_fabric_attr* attributes,
                                                     fid_fabric** fabric, void* context) {
  const int result = fabscope::fabric::interposed_fi_fabric(attributes, fabric, context,
                                                            __builtin_return_address(0));
  if (result == 0) fabscope::nic::start_with_fabric();
  return result;
}

__attribute__((visibility("default"))) int fi_fabric2(fi_info* info, fid_fabric** fabric,
                                                      std::uint64_t flags, void* context) {
  const int result = fabscope::fabric::interposed_fi_fabric2(info, fabric, flags, context,
                                                             __builtin_return_address(0));
  if (result == 0) fabscope::nic::start_with_fabric();
  return result;
}
}
