// process_level.cpp: gives the kernels for gradients and for groups of the instruction set level of this process.
#include "backends/cpu/kernel_levels.h"
#include "host/host_info.h"

namespace gs {

const GradientKernels* gradient_kernels(Number number) {
  static const cpu::Kernels* const kernels = cpu::kernels_of(host::info().isa);
  return kernels->gradients(number);
}

const GroupKernels& group_kernels(int key_bytes) {
  static const cpu::Kernels* const kernels = cpu::kernels_of(host::info().isa);
  return kernels->groups(key_bytes);
}

}  // namespace gs
