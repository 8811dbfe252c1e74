// call.h: how the CUDA runtime is called here: every answer checked, what costs time counted, on the right device.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

namespace gs::cuda {

// What this module has asked of the driver so far; tests prove with it what a call does not do.
struct Counts {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> waits{0};        // the host waited for the GPU
  std::atomic<uint64_t> allocations{0};  // of memory for good: cudaMalloc, cudaHostAlloc
};
Counts& counts();

// Throws device::DeviceError with the call's name and CUDA's text; std::bad_alloc where memory ran out.
void check(cudaError_t error, const char* call);

// For places that cannot throw: forgets the error, so that nobody is told of it later.
bool succeeded(cudaError_t error) noexcept;

// Whether the stream is being captured into a graph.
bool is_capturing(cudaStream_t stream);

// Makes a device the current one for a scope. Leaves the thread without a context if it had none: setting the device
// back would create a context, and take memory, on a GPU that nobody asked for.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  CUcontext before_ = nullptr;
  bool changed_ = false;
};

// Calls that must not become part of a graph, but are right beside it (memory for good, questions about events), would
// be refused, and would spoil the graph, while any stream of the process is captured. In this scope they are not.
class BesideCapture {
 public:
  BesideCapture() noexcept;
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;
  ~BesideCapture();

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool changed_ = false;
};

}  // namespace gs::cuda
