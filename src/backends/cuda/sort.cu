// sort.cu: calls the sorts and sums of CUB, in a file of its own because CUB takes longest to compile.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "backends/cuda/kernels.h"

namespace gs::cuda {

cudaError_t sort_pairs(void* work, std::size_t& bytes, SortBuffer& keys, SortBuffer& values, int64_t count, int bits,
                       cudaStream_t stream) {
  cub::DoubleBuffer<uint64_t> key_buffers(keys.now, keys.other);
  cub::DoubleBuffer<uint64_t> value_buffers(values.now, values.other);
  const cudaError_t error =
      cub::DeviceRadixSort::SortPairs(work, bytes, key_buffers, value_buffers, count, 0, bits, stream);
  keys = {key_buffers.Current(), key_buffers.Alternate()};
  values = {value_buffers.Current(), value_buffers.Alternate()};
  return error;
}

cudaError_t exclusive_sum_of(void* work, std::size_t& bytes, int64_t* values, int64_t count, cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(work, bytes, values, values, count, stream);
}

}  // namespace gs::cuda
