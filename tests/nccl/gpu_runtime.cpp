// SPDX-License-Identifier: Apache-2.0
// Stands in for the HIP runtime, with its soname: a device whose wall clock counts at 100 MHz.
extern "C" {
__attribute__((visibility("default"))) int hipGetDevice(int* device) {
  *device = 0;
  return 0;
}
__attribute__((visibility("default"))) int hipDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int wall_clock_rate = 10017;
  if (attribute != wall_clock_rate) return 1;
  *value = 100000;
  return 0;
}
}
