// kernels_float_run.cu: compiles the kernels of reductions of floats by sorted runs.
#include "backends/cuda/kernel.cuh"

void gs::cuda::float_run_kernels(Kernel* table) {
  fill(table, device::FloatRuns());
}
