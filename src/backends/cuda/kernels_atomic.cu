// kernels_atomic.cu: compiles the kernels of reductions by atomic instructions.
#include "backends/cuda/kernel.cuh"

void gs::cuda::atomic_kernels(Kernel* table) {
  fill(table, device::AtomicBodies());
}
