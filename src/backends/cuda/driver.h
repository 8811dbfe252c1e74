// driver.h: what the driver and its GPUs are, asked once; and why they do not serve, in words for a user.
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
  std::string reason;  // why it does not serve; empty where it does
};

struct DriverFacts {
  int version = 0;     // of CUDA, as the driver speaks it: 1000 * major + 10 * minor; 0 without a driver
  std::string reason;  // why there is no GPU; empty where there is one
  std::vector<DeviceFacts> devices;
};

// Makes no context. The answer stays that of the first call.
const DriverFacts& driver();

// The architectures that this build has code for, separated by commas.
const char* architectures();

// A process that forked has none of its parent's GPU work and must not touch it.
bool is_forked();

// Throws device::DeviceError, which says why, unless the device serves this process.
const DeviceFacts& usable(int device);

}  // namespace gs::cuda
