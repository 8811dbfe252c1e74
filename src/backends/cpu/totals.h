// totals.h: reductions whose running totals, or what is known of them, lie in memory of their own.
#pragma once

#include "backends/cpu/schedule.h"

namespace gs::cpu {

// Runs a reduction with records, flags or counts, in one window of the targets after the other.
Outcome reduce_apart(Schedule& schedule, const Buffers& buffers, const RunOptions& options);

}  // namespace gs::cpu
