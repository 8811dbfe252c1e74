// kernels_column.cu: the kernels for columns of tables.
#include "backends/cuda/kernel.cuh"

void gs::cuda::column_kernels(Kernel* table) {
  fill(table, device::ColumnBodies());
}
