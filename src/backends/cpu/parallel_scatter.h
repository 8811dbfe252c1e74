// parallel_scatter.h: scatters on several threads, with results that do not depend on their number.
#pragma once

#include "backends/cpu/cpu_backend.h"

namespace gs::cpu {

// Whether several points may meet one target, so that the threads must not simply share the points.
bool may_meet(const Plan& plan, Direction direction);

// ThreadCount that would take part.
int scatter_threads(const Plan& plan, const Tuning& tuning, int available);

// Copies every unit to its target; the last of several points wins.
Outcome scatter_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                     const RunOptions& options);

// The same into fresh memory with a base.
Outcome scatter_onto(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                     const RunOptions& options);

}  // namespace gs::cpu
