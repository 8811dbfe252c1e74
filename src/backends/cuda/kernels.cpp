// kernels.cpp: builds the table of all kernels by the numbers of their bodies.
#include "backends/cuda/kernels.h"

#include <array>

#include "backends/device/bodies/bodies.h"

namespace gs::cuda {

const Kernel& kernel(int number) {
  static const std::array<Kernel, device::kBodies> table = [] {
    std::array<Kernel, device::kBodies> all{};
    move_kernels(all.data());
    scatter_kernels(all.data());
    atomic_kernels(all.data());
    integer_run_kernels(all.data());
    float_run_kernels(all.data());
    byte_float_run_kernels(all.data());
    column_kernels(all.data());
    return all;
  }();
  return table.at(static_cast<std::size_t>(number));
}

}  // namespace gs::cuda
