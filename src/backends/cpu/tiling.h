// tiling.h: decides in which order the points of a plan are walked, and which operands are packed on the way.
#pragma once

#include <optional>

#include "backends/cpu/tuning.h"
#include "core/plan.h"

namespace gs::cpu {

inline constexpr int64_t kTilePartOfL2 = 2;  // a tile fills at most L2 / this
// Least bytes of a tile along the fast axis of a packed operand: 64 take 1.2 of the time (Xeon).
inline constexpr int64_t kTileLineBytes = 256;

// A walk through the points of a plan in another order than C order. Operands whose fast axis is not the last axis of
// the walk are packed tile by tile: the part that belongs to a tile is copied to contiguous memory, or written there
// and copied from it, so that each of their cache lines is used up while it is in a cache.
struct Tiling {
  Plan plan;                     // its axes are in the order of the walk
  SmallVector<bool, 12> packed;  // [operand]
  bool is_tiled = false;         // the plan is walked tile by tile, and not as one tile
  Dims tile;                     // the extents of a tile; the last tile along an axis may have less
  int64_t tiles = 1;
  int64_t points = 0;  // of a tile
  int64_t bytes = 0;   // of the packed operands of a tile
};

// The tiling of a plan; empty if C order is as good.
std::optional<Tiling> tiling_of(const Plan& plan, const Tuning& tuning, Direction direction);

// The tiling of a check. If it writes positions, these are packed; otherwise there is one tile.
std::optional<Tiling> tiling_of_check(const Plan& reading, const Tuning& tuning, bool writes);

// The bytes of one item of an operand.
int64_t item_of(const Plan& plan, int operand);

}  // namespace gs::cpu
