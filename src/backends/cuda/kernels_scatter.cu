// kernels_scatter.cu: compiles the kernels of scatters that may have duplicates, and of the search for duplicates.
#include "backends/cuda/kernel.cuh"

void gs::cuda::scatter_kernels(Kernel* table) {
  fill(table, device::ScatterBodies());
}
