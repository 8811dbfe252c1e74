// run.h: runs a schedule on memory.
#pragma once

#include "backends/cpu/schedule.h"

namespace gs::cpu {

// Runs the call of a schedule, once. As Backend::move and Backend::reduce.
Outcome run(Schedule& schedule, const Buffers& buffers, const RunOptions& options);

// Decides and runs a move, or a reduction.
Outcome move_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                  Direction direction, const RunOptions& options);
Outcome reduce_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                    const Combine& combine, const RunOptions& options);

}  // namespace gs::cpu
