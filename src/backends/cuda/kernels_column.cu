// kernels_column.cu: compiles the kernels for the columns of tables.
#include "backends/cuda/kernel.cuh"

void gs::cuda::column_kernels(Kernel* table) {
  fill(table, device::ColumnBodies());
}
