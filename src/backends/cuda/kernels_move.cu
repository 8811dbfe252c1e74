// kernels_move.cu: compiles the kernels of moves without duplicates, and of the check of indices.
#include "backends/cuda/kernel.cuh"

void gs::cuda::move_kernels(Kernel* table) {
  fill(table, device::MoveBodies());
}
