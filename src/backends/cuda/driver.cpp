// driver.cpp: queries the CUDA driver and its GPUs, and words the reasons why they cannot be used.
#include "backends/cuda/driver.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include <atomic>

#include "backends/cuda/architectures.h"
#include "backends/cuda/call.h"
#include "backends/device/machine.h"

namespace gs::cuda {
namespace {

std::atomic<bool> forked{false};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The oldest driver for this major version of CUDA, from NVIDIA's compatibility table.
constexpr const char* kOldestDriver = CUDART_VERSION >= 13000 ? "580" : "525";

std::string no_gpu_reason(cudaError_t error, int driver_version) {
  if (error == cudaErrorInsufficientDriver) {
    std::string text = "no GPU: the driver is missing or too old (CUDA " + std::to_string(CUDART_VERSION / 1000) +
                       " needs " + kOldestDriver + " or newer";
    if (driver_version > 0) text += "; this one supports CUDA " + version_text(driver_version);
    return text + ")";
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess)
    return "no GPU: the driver reports none (is CUDA_VISIBLE_DEVICES set?)";
  return std::string("no GPU: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
}

DeviceFacts query_device(int device) {
  DeviceFacts facts;
  cudaDeviceProp found{};
  const cudaError_t error = cudaGetDeviceProperties(&found, device);
  if (!succeeded(error)) {
    facts.reason = std::string("cudaGetDeviceProperties: ") + cudaGetErrorString(error);
    return facts;
  }
  facts.name = found.name;
  facts.major = found.major;
  facts.minor = found.minor;
  facts.memory = static_cast<int64_t>(found.totalGlobalMem);
  facts.processors = found.multiProcessorCount;
  facts.has_pools = found.memoryPoolsSupported != 0;
  if (!serves(architectures(), found.major, found.minor))
    facts.reason = "its compute capability is " + std::to_string(found.major) + "." + std::to_string(found.minor) +
                   ", and this build has code only for " + architectures() +
                   " (see the build option GS_CUDA_ARCHITECTURES)";
  return facts;
}

DriverFacts query_driver() {
  DriverFacts facts;
  succeeded(cudaDriverGetVersion(&facts.version));
  int count = 0;  // stays 0 if the call fails
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (!succeeded(error) || count == 0) {
    facts.reason = no_gpu_reason(error, facts.version);
    return facts;
  }
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  for (int device = 0; device < count; ++device) facts.devices.push_back(query_device(device));
  return facts;
}

}  // namespace

const DriverFacts& driver() {
  // Never destroyed, because threads may still use it at exit.
  static const DriverFacts* const facts = new DriverFacts(query_driver());
  return *facts;
}

const char* architectures() {
  return GS_CUDA_ARCHITECTURES;
}

bool is_forked() {
  return forked.load(std::memory_order_relaxed);
}

const DeviceFacts& usable(int device) {
  const DriverFacts& facts = driver();
  if (!facts.reason.empty()) throw device::DeviceError(facts.reason);
  if (is_forked())
    throw device::DeviceError(
        "this process was forked from one that uses the GPU, which CUDA does not allow; start it with the method "
        "'spawn' or 'forkserver', or use the GPU for the first time after the fork");
  if (device < 0 || device >= static_cast<int>(facts.devices.size()))
    throw device::DeviceError("there is no GPU " + std::to_string(device) +
                              "; GPUs are numbered from 0, and the driver reports " +
                              std::to_string(facts.devices.size()));
  const DeviceFacts& found = facts.devices[static_cast<std::size_t>(device)];
  if (!found.reason.empty())
    throw device::DeviceError("GPU " + std::to_string(device) + " cannot be used: " + found.reason);
  return found;
}

}  // namespace gs::cuda
