// column_tiles.h: gathers along an axis that is not the last one, slab by slab: a few columns of the table are packed
// into memory that the L2 cache holds, and everything that is wanted of them is gathered from there.
#pragma once

#include "backends/cpu/cpu_backend.h"

namespace gs::cpu {

// Columns in a slab for this plan; 0 where slabs do not pay.
int64_t slab_columns(const Plan& plan, const Tuning& tuning, Direction direction);

Outcome gather_slabs(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, int64_t columns,
                     const RunOptions& options);

}  // namespace gs::cpu
