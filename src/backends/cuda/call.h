// call.h: checks every result of the CUDA runtime, counts the calls that cost time, and sets device and capture mode.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

namespace gs::cuda {

// The number of expensive driver calls so far; with it, tests prove that an operator makes none of them.
struct Counts {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> waits{0};        // the host waited for the GPU
  std::atomic<uint64_t> allocations{0};  // of memory that is kept: cudaMalloc, cudaHostAlloc
};
Counts& counts();

// Throws device::DeviceError with the call's name and CUDA's text, or std::bad_alloc if memory ran out.
void check(cudaError_t error, const char* call);

// For places that cannot throw: clears the error, so that no later call reports it.
bool succeeded(cudaError_t error) noexcept;

// Returns true if the stream is being captured into a graph.
bool is_capturing(cudaStream_t stream);

// Makes a device the current one for a scope. Leaves the thread without a context if it had none: setting the device
// back would create a context, and use memory, on a GPU that the program may not use.
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

// Allows calls that must not become part of a graph but may run beside its capture (allocation of memory that is kept,
// queries of events). Outside of this scope, CUDA refuses such calls while any stream of the process is captured, and
// invalidates the graph.
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
