// tiles.cpp: computes the number of tiles and the views of each tile.
#include "plans/tiles.h"

#include <algorithm>

#include "core/checked.h"
#include "core/error.h"
#include "plans/checks.h"

namespace gs {
namespace {

Dims tile_counts(const Dims& shape, const Dims& tile) {
  if (tile.size() != shape.size()) {
    throw ShapeError("tile shape " + to_string(tile) + " has rank " + std::to_string(tile.size()) +
                     ", the result has rank " + std::to_string(shape.size()));
  }
  Dims counts(shape.size());
  for (int d = 0; d < shape.size(); ++d) {
    if (tile[d] < 1) throw ShapeError("tile shape " + to_string(tile) + " has an extent below 1");
    counts[d] = shape[d] / tile[d] + (shape[d] % tile[d] != 0 ? 1 : 0);
  }
  return counts;
}

void cut(ArrayView& view, int d, int64_t begin, int64_t most) {
  view.data += begin * view.stride[d];
  view.extent[d] = std::min(most, view.extent[d] - begin);
}

}  // namespace

int64_t tile_count(const Dims& shape, const Dims& tile) {
  return checked_count(tile_counts(shape, tile));
}

Tile tile_at(const ArrayView& input, const IndexView& index, const ArrayView& result, int axis, const Dims& tile,
             int64_t number) {
  const Dims at = unravel(number, tile_counts(index.extent, tile));
  Tile box{input, index, result};
  for (int d = 0; d < index.rank(); ++d) {
    const int64_t begin = at[d] * tile[d];
    cut(box.index, d, begin, tile[d]);
    cut(box.result, d, begin, tile[d]);
    if (d != axis) cut(box.input, d, begin, tile[d]);
  }
  return box;
}

}  // namespace gs
