// kernels_scatter.cu: the kernels of scatters.
#include "backends/cuda/kernel.cuh"

void gs::cuda::scatter_kernels(Kernel* table) {
  fill(table, device::ScatterBodies());
}
