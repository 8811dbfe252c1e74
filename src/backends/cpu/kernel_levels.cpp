// kernel_levels.cpp: finds the kernels of a level among those of all levels, which cmake/cpu.cmake lists in GS_LEVELS.
#include "backends/cpu/kernel_levels.h"

namespace gs::cpu {

#define GS_LEVEL(name)         \
  namespace name {             \
  extern const Kernels kLevel; \
  }
GS_LEVELS
#undef GS_LEVEL

const Kernels* kernels_of(std::string_view level) {
#define GS_LEVEL(name) &name::kLevel,
  for (const Kernels* kernels : {GS_LEVELS}) {
    if (level == kernels->level) return kernels;
  }
  return nullptr;
}

}  // namespace gs::cpu
