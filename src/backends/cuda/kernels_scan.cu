// kernels_scan.cu: the kernels that look for bad indices and duplicates.
#include "backends/cuda/kernel.cuh"

void gs::cuda::scan_kernels(Kernel* table) {
  fill(table, device::ScanBodies());
}
