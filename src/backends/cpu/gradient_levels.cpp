// gradient_levels.cpp: gives the kernels for gradients of the instruction set level of this process.
#include "backends/cpu/kernel_levels.h"
#include "host/host_info.h"

namespace gs {

const GradientKernels* gradient_kernels(Number number) {
  static const cpu::Kernels* const kernels = cpu::kernels_of(host::info().isa);
  return kernels->gradients(number);
}

}  // namespace gs
