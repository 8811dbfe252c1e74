// column_tiles.h: gathers along an axis that is not the last one, tile by tile.
// A tile is a few columns of the source array, packed into memory that fits into the L2 cache. All points of these
// columns are gathered from there.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// Number of columns of a tile for this plan; 0 if tiles do not pay.
int64_t column_tile_width(const Plan& plan, const Tuning& tuning, Direction direction);

Outcome gather_column_tiles(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, int64_t columns,
                            const RunOptions& options);

}  // namespace gs::cpu
