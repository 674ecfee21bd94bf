// SPDX-License-Identifier: Apache-2.0
// The translation unit with the fabric adapter.
#include <rdma/fabric.h>

#include <fabscope/fabric.hpp>

/// True if a fabric opens, is instrumented and closes; also where this machine has none.
bool open_fabric() {
  fi_info* info = nullptr;
  if (fi_getinfo(FI_VERSION(1, 9), nullptr, nullptr, 0, nullptr, &info) != 0) return true;
  fid_fabric* fabric = nullptr;
  const bool opened = fi_fabric(info->fabric_attr, &fabric, nullptr) == 0;
  const bool good =
      !opened || (fabscope::fabric::instrument(fabric) && fi_close(&fabric->fid) == 0);
  fi_freeinfo(info);
  return good;
}
