// kernels_byte_float_run.cu: the kernels of reductions of floats of one byte by sorted runs.
#include "backends/cuda/kernel.cuh"

void gs::cuda::byte_float_run_kernels(Kernel* table) {
  fill(table, device::ByteFloatRuns());
}
