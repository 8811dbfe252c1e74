// scatter_parts.h: divides the points of a scatter into parts, so that each target belongs to one part.
#pragma once

#include <vector>

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/partitioned_scatter.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

inline constexpr int64_t kMostTileParts = 4096;  // work chunks of a scatter by tiles

// What one work chunk of a task writes.
struct TaskPart {
  AddressRange own;          // only targets that begin in this range
  int axis = -1;             // not -1: only the points [begin, end) along this axis of the space
  int64_t begin = 0;         // axis -1: only the bytes [begin, end) of every unit
  int64_t end = 0;           // 0: all bytes
  int64_t piece = 0;         // the number of these bytes among the pieces
  ColumnTiling tiling = {};  // if it has columns: only its tiles [begin, end)
};

// Slices of an axis along which the indexed side has a stride. Points of different slices never share a target.
std::vector<TaskPart> slices(const Plan& plan, const Tuning& tuning, int threads, AddressRange own);

// Pieces of a few units that are so long that all threads work on each of them.
std::vector<TaskPart> pieces(const Plan& plan, const Tuning& tuning, int threads, AddressRange own);

// Tiles of columns: one after the other in many parts, between which Ctrl-C is polled, but in a bounded number of them.
std::vector<TaskPart> tiles(const Plan& plan, const ColumnTiling& tiling);

}  // namespace gs::cpu
