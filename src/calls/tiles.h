// tiles.h: cuts an elementwise gather along an axis into tiles of the result, and runs it tile by tile.
#pragma once

#include "calls/call_context.h"
#include "calls/call_result.h"
#include "calls/views.h"

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

// Gathers tile by tile into `result`, fresh contiguous memory. `plan` is the plan of the whole gather.
CallResult run_tiled_gather(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                            std::byte* result);

}  // namespace gs
