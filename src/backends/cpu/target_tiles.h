// target_tiles.h: scatters to packed columns of the target, and writes what has changed.
#pragma once

#include "backends/cpu/column_tiles.h"

namespace gs::cpu {

// Moves all points of a plan on this thread; returns false if the rule forbids an index.
struct MovePoints {
  bool (*run)(const void* context, const Plan& plan, const Buffers& buffers);
  const void* context;
};

// Whether most neighbours along the axis of a far tiling have the same index, so that the target is written row by row,
// which needs no tiles. Some of the points are looked at.
bool follows_rows(const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers);

// Scatters the points of one tile: its columns of the target are packed, `move` scatters to them, and the words that
// have changed are written to where they belong.
bool scatter_tile(const Kernels& kernels, const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers,
                  int64_t number, MovePoints move);

}  // namespace gs::cpu
