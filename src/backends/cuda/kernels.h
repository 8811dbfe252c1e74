// kernels.h: declares what nvcc compiles for plain C++: the kernels by number, and the sorts and sums of CUB.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gs::cuda {

struct Kernel {
  const void* function = nullptr;  // for cudaLaunchKernel; one parameter, the body
  std::size_t bytes = 0;           // of the body
};

// The kernel of the body that has this number in device/bodies/bodies.h.
const Kernel& kernel(int number);

// Each function puts the kernels of one family of bodies into the table; every family has a source file of its own.
void move_kernels(Kernel* table);
void scatter_kernels(Kernel* table);
void atomic_kernels(Kernel* table);
void integer_run_kernels(Kernel* table);
void float_run_kernels(Kernel* table);
void byte_float_run_kernels(Kernel* table);
void column_kernels(Kernel* table);

// Two buffers for one array. The sort reads the array in `now` and writes it to one of the two, which is `now`
// afterwards.
struct SortBuffer {
  uint64_t* now = nullptr;
  uint64_t* other = nullptr;
};

// As CUB's functions: with `work` null they only store in `bytes` how much temporary memory they need.
cudaError_t sort_pairs(void* work, std::size_t& bytes, SortBuffer& keys, SortBuffer& values, int64_t count, int bits,
                       cudaStream_t stream);
cudaError_t exclusive_sum_of(void* work, std::size_t& bytes, int64_t* values, int64_t count, cudaStream_t stream);

}  // namespace gs::cuda
