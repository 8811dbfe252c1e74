// tiles.h: cuts an elementwise gather along an axis into tiles of the result.
#pragma once

#include "core/plan.h"
#include "plans/plans.h"

namespace gs {

// Number of tiles that cover `shape`. Throws ShapeError if the tile has another rank or an extent below 1.
int64_t tile_count(const Dims& shape, const Dims& tile);

// The operands of one tile: a box of the index and of the result, and that box of the input with its whole `axis`.
struct Tile {
  ArrayView input;
  IndexView index;
  ArrayView result;
};
// The tile with this number in row-major order. The caller has checked that the operands fit together.
Tile tile_at(const ArrayView& input, const IndexView& index, const ArrayView& result, int axis, const Dims& tile,
             int64_t number);

}  // namespace gs
