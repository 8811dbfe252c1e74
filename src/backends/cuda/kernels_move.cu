// kernels_move.cu: the kernels of moves.
#include "backends/cuda/kernel.cuh"

void gs::cuda::move_kernels(Kernel* table) {
  fill(table, device::MoveBodies());
}
