// kernel.cuh: turns a kernel body into a kernel.
#pragma once

#include "backends/cuda/kernels.h"
#include "backends/device/bodies/bodies.h"

namespace gs::cuda {

// The blocks of a body's kernel that a multiprocessor shall run at a time. ptxas then keeps to the registers that so
// many blocks leave each other. Without a bound it limits itself to 64 registers so that more blocks fit, and spills.
template <class Body>
inline constexpr int kBlocksAtOnce = [] {
  if constexpr (requires { Body::kBlocksAtOnce; }) {
    return Body::kBlocksAtOnce;
  } else {
    return 1;
  }
}();

// The parameters stay in constant memory, where every thread reads them, so that no thread copies the body.
template <class Body>
__global__ void __launch_bounds__(device::kBlockThreads, kBlocksAtOnce<Body>) run(const __grid_constant__ Body body) {
  const int64_t thread = int64_t{blockIdx.x} * device::kBlockThreads + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * device::kBlockThreads;
  if constexpr (device::kByWarps<Body>) {
    body(device::Warp(thread / device::kLanes, threads / device::kLanes));
  } else {
    body(device::Thread{thread, threads});
  }
}

template <class... Body>
void fill(Kernel* table, device::BodyList<Body...> family) {
  [[maybe_unused]] Kernel* at = table + device::first_number(family);
  ((*at++ = Kernel{reinterpret_cast<const void*>(&run<Body>), sizeof(Body)}), ...);
}

}  // namespace gs::cuda
