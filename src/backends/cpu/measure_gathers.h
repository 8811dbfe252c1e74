// measure_gathers.h: declares the measurement of gather instructions on this processor.
#pragma once

#include "backends/cpu/kernels/level.h"

namespace gs::cpu {

// The time that single loads take for units in a first-level cache, in percent of the time of gather instructions, with
// kernels that have both. The fastest of sixteen rounds of 2048 points counts.
int64_t percent_of_gathers(const Kernels& kernels);

}  // namespace gs::cpu
