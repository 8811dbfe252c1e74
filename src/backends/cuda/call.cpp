// call.cpp: implements the checks, counts and scopes of call.h.
#include "backends/cuda/call.h"

#include <cudaTypedefs.h>

#include <new>
#include <string>

#include "backends/device/machine.h"

namespace gs::cuda {
namespace {

template <class Function>
Function driver_call(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result),
        "cudaGetDriverEntryPointByVersion");
  if (found == nullptr || result != cudaDriverEntryPointSuccess)
    throw device::DeviceError(std::string("the CUDA driver does not have the function ") + name);
  return reinterpret_cast<Function>(found);
}

// Functions of the driver's library, which this module does not link.
struct ContextCalls {
  PFN_cuCtxGetCurrent_v4000 get = driver_call<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent");
  PFN_cuCtxSetCurrent_v4000 set = driver_call<PFN_cuCtxSetCurrent_v4000>("cuCtxSetCurrent");
};

const ContextCalls& context_calls() {
  static const ContextCalls calls;
  return calls;
}

}  // namespace

Counts& counts() {
  static Counts all;
  return all;
}

void check(cudaError_t error, const char* call) {
  if (succeeded(error)) return;
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw device::DeviceError(std::string(call) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
                            ")");
}

bool succeeded(cudaError_t error) noexcept {
  if (error == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

DeviceGuard::DeviceGuard(int device) {
  const ContextCalls& calls = context_calls();
  if (calls.get(&before_) != CUDA_SUCCESS) before_ = nullptr;
  int current = -1;
  if (before_ != nullptr) check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == device) return;
  check(cudaSetDevice(device), "cudaSetDevice");
  changed_ = true;
}

DeviceGuard::~DeviceGuard() {
  if (changed_) context_calls().set(before_);
}

BesideCapture::BesideCapture() noexcept : changed_(succeeded(cudaThreadExchangeStreamCaptureMode(&mode_))) {}

BesideCapture::~BesideCapture() {
  if (changed_) succeeded(cudaThreadExchangeStreamCaptureMode(&mode_));
}

}  // namespace gs::cuda
