// column_tiles.h: gathers and scatters along an axis that is not the fast one of the indexed side, tile by tile.
// A tile is a few columns of the indexed side, packed into memory that fits into the L2 cache. All points of these
// columns are gathered from there, or scattered to there.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

inline constexpr int64_t kTileRowBytes = 128;  // bytes of a packed row; half of it if the source array has more rows
inline constexpr int64_t kTileRowsPerUse = 2;  // rows of the source array for each row of the result, at most
// Least columns, so that those that share sets of the caches are worth packing.
inline constexpr int64_t kCrowdingColumns = 64;

// The axis along which columns lie side by side on the indexed side, and the number of columns of a tile; 0 if tiles do
// not pay.
struct ColumnTiling {
  int axis = -1;
  int64_t columns = 0;
  std::optional<Comparison> far = {};  // why tiles pay; none: columns share sets of the caches
};
ColumnTiling column_tiling_of(const Plan& plan, const Tuning& tuning);  // of a gather
// Of a scatter that copies values or combines each with its target.
ColumnTiling column_tiling_of_scatter(const Plan& plan, const Tuning& tuning, bool reduces);

// The tiles of a plan are numbered, one matrix of the indexed side after the other.
int64_t tiles_of(const Space& space, const ColumnTiling& tiling);
// The plan of the points of one tile. Adjusts the addresses in `buffers` to it.
Plan plan_of_tile(const Plan& plan, const ColumnTiling& tiling, int64_t number, Buffers& buffers);

// Copies rows of `bytes` bytes, `stride` bytes apart, to contiguous memory.
void pack_columns(std::byte* target, const std::byte* source, int64_t rows, int64_t stride, int64_t bytes);

// `stream`: results are written with streaming stores where that is possible.
Outcome gather_column_tiles(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                            const ColumnTiling& tiling, bool stream, const RunOptions& options);

}  // namespace gs::cpu
