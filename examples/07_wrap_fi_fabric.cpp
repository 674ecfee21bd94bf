// SPDX-License-Identifier: Apache-2.0
// Follows every fabric that this program opens, without a line in the code that opens them: the
// program is linked with -Wl,--wrap=fi_fabric, and the linker sends its calls here. Calls of shared
// libraries that the program uses do not come here.
#include <cstdio>
#include <fabscope/fabric.hpp>
#include <fabscope/session.hpp>
#include <fabscope/sink/memory_sink.hpp>

#include "loopback.hpp"

extern "C" {

int __real_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);
int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);

int __wrap_fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  return fabscope::fabric::wrapped_fi_fabric(__real_fi_fabric, attributes, fabric, context);
}
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
