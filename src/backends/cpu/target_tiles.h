// target_tiles.h: scatters to packed columns of the target, and writes what has changed.
#pragma once

#include "backends/cpu/column_tiles.h"

namespace gs::cpu {

// Moves all points of a plan on this thread; returns false if the rule forbids an index.
struct MovePoints {
  bool (*run)(void* context, const Plan& plan, const Buffers& buffers);
  void* context;
};

// Scatters the points [begin, begin + columns) along the axis of a tiling: for each matrix of the target these columns
// are packed, `move` scatters to them, and the words that have changed are written to where they belong.
bool scatter_tile(Run run, const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers, int64_t begin,
                  MovePoints move);

}  // namespace gs::cpu
