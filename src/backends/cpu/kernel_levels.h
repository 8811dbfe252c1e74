// kernel_levels.h: finds the kernels of each instruction set level.
#pragma once

#include <string_view>

#include "backends/cpu/kernels/level.h"

namespace gs::cpu {

// The kernels of level "baseline", "v3" or "v4"; null for a level that this build does not contain. Whether the
// processor supports the level is in host::info().
const Kernels* kernels_of(std::string_view level);

}  // namespace gs::cpu
