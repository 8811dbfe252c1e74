// cpu_backend.h: declares the internals of the CPU backend, which run a plan with given kernels and tuning.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

Outcome move_with(Run kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers, Direction direction,
                  const RunOptions& options);

// What explain says of the kernel: the level that was compiled into it, and the form of the plan.
std::string kernel_name(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                        const Combine& combine, int threads);

Outcome parallel_for(const ParallelWork& work, const RunOptions& options);

}  // namespace gs::cpu
