// kernels_byte_float_run.cu: compiles the kernels of reductions of one-byte floats by sorted runs.
#include "backends/cuda/kernel.cuh"

void gs::cuda::byte_float_run_kernels(Kernel* table) {
  fill(table, device::ByteFloatRuns());
}
