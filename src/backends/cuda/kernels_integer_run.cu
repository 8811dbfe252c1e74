// kernels_integer_run.cu: compiles the kernels of reductions of integers by sorted runs.
#include "backends/cuda/kernel.cuh"

void gs::cuda::integer_run_kernels(Kernel* table) {
  fill(table, device::IntegerRuns());
}
