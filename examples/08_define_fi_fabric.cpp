// SPDX-License-Identifier: Apache-2.0
// Follows every fabric that this process opens, also in shared libraries that it uses: a program
// that defines fi_fabric is asked before libfabric. libfabric's own calls (tcp;ofi_rxm opens a
// fabric of tcp) come here too and are passed on.
#include <cstdio>
#include <fabscope/fabric.hpp>
#include <fabscope/session.hpp>
#include <fabscope/sink/memory_sink.hpp>

#include "loopback.hpp"

extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  return fabscope::fabric::interposed_fi_fabric(attributes, fabric, context,
                                                __builtin_return_address(0),
                                                fabscope::fabric::stand_in::program);
}

int main() {
  fabscope::memory_sink<fabscope::operation_record> operations;
  fabscope::session session;
  session.add_sink(operations);
  {
    loopback self;  // knows nothing of all this
    self.start();
    self.send(1, 1000);
  }
  session.finish();
  const auto& all = operations.all<fabscope::operation_record>();
  for (const fabscope::operation_record& one : all) {
    std::printf("%s of %llu bytes\n", to_string(static_cast<fabscope::operation>(one.op)),
                static_cast<unsigned long long>(one.bytes));
  }
  return all.size() == 2 ? 0 : 1;
}
