// tiles.h: an elementwise gather along an axis, walked tile by tile in row-major order over the result.
#pragma once

#include "core/plan.h"
#include "plans/plans.h"

namespace gs {

// Number of tiles that cover `shape`. ShapeError where the tile has another rank or an extent below 1.
int64_t tile_count(const Dims& shape, const Dims& tile);

// What one tile reads and writes: a box of index and result, and the same box of the input, but its whole `axis`.
struct Tile {
  ArrayView input;
  IndexView index;
  ArrayView result;
};
// Tile number `number` in row-major order. The operands fit together already.
Tile tile_at(const ArrayView& input, const IndexView& index, const ArrayView& result, int axis, const Dims& tile,
             int64_t number);

}  // namespace gs
