// kernels_reduce.cu: the kernels of reductions.
#include "backends/cuda/kernel.cuh"

void gs::cuda::reduce_kernels(Kernel* table) {
  fill(table, device::ReduceBodies());
}
