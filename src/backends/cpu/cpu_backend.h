// cpu_backend.h: declares the internals of the CPU backend, which describe a plan with given kernels and tuning.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/run.h"

namespace gs::cpu {

// What explain says of the kernel: the level that was compiled into it, and the form of the plan.
std::string kernel_name(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                        const Combine& combine, int threads);

// What explain says of the decisions.
std::vector<Decision> decisions_of(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                                   const Combine& combine, int available);

Outcome parallel_for(const ParallelWork& work, const RunOptions& options);

}  // namespace gs::cpu
