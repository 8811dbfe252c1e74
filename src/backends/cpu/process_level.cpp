// process_level.cpp: gives the kernels for gradients and for groups of the instruction set level of this process.
#include "backends/cpu/kernel_levels.h"
#include "host/host_info.h"

namespace gs {

namespace {

const cpu::Kernels& kernels() {
  static const cpu::Kernels& instance = *cpu::kernels_of(host::info().isa);
  return instance;
}

}  // namespace

const GradientKernels* gradient_kernels(Number number) {
  return kernels().gradients(number);
}

const GroupKernels& group_kernels(int key_bytes) {
  return kernels().groups(key_bytes);
}

}  // namespace gs
