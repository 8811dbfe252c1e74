// kernels.h: what nvcc compiles, as plain C++ sees it: kernels by number, and the sorts and sums of CUB.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gs::cuda {

struct Kernel {
  const void* function = nullptr;  // for cudaLaunchKernel; one parameter, the body
  std::size_t bytes = 0;           // of the body
};

// The kernel with a number of device/bodies.h.
const Kernel& kernel(int number);

// Each family of bodies, from a file of its own, puts its kernels into the table of all.
void move_kernels(Kernel* table);
void scatter_kernels(Kernel* table);
void atomic_kernels(Kernel* table);
void integer_run_kernels(Kernel* table);
void float_run_kernels(Kernel* table);
void byte_float_run_kernels(Kernel* table);
void column_kernels(Kernel* table);

// Two buffers for one array: what is in `now` is sorted into one of them, which then is `now`.
struct SortBuffer {
  uint64_t* now = nullptr;
  uint64_t* other = nullptr;
};

// As CUB's calls: with `work` null they only say how many bytes of it they need.
cudaError_t sort_pairs(void* work, std::size_t& bytes, SortBuffer& keys, SortBuffer& values, int64_t count, int bits,
                       cudaStream_t stream);
cudaError_t exclusive_sum_of(void* work, std::size_t& bytes, int64_t* values, int64_t count, cudaStream_t stream);

}  // namespace gs::cuda
