// column_tiles.h: gathers along an axis that is not the fast one of the source array, tile by tile.
// A tile is a few columns of the source array, packed into memory that fits into the L2 cache. All points of these
// columns are gathered from there.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// The axis along which columns lie side by side in the source array, and the number of columns of a tile; 0 if tiles do
// not pay.
struct ColumnTiling {
  int axis = -1;
  int64_t columns = 0;
};
ColumnTiling column_tiling_of(const Plan& plan, const Tuning& tuning, Direction direction);

Outcome gather_column_tiles(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                            const RunOptions& options);

}  // namespace gs::cpu
