// driver.h: facts about the CUDA driver and its GPUs, queried once, and the reason if a GPU cannot be used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gs::cuda {

struct DeviceFacts {
  std::string name;
  int major = 0;
  int minor = 0;
  int64_t memory = 0;
  int processors = 0;
  bool has_pools = false;
  std::string reason;  // why the GPU cannot be used; empty if it can
};

struct DriverFacts {
  int version = 0;     // the newest CUDA that the driver supports: 1000 * major + 10 * minor; 0 without a driver
  std::string reason;  // why there is no GPU; empty if there is one
  std::vector<DeviceFacts> devices;
};

// Creates no context. Every call returns the facts that the first call found.
const DriverFacts& driver();

// The architectures that this build has code for, separated by commas.
const char* architectures();

// True in a process that was forked after the first call of `driver`. Its parent's GPU resources do not exist there and
// must not be used.
bool is_forked();

// The facts of a device. Throws device::DeviceError with the reason if this process cannot use the device.
const DeviceFacts& usable(int device);

}  // namespace gs::cuda
