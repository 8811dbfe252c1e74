// target_tiles.cpp: packs columns of a target twice, as they were and as they become.
// Other calls may write to words that no point selects, at the same time. So only words that differ are written; what
// was read of others is not used.
#include "backends/cpu/target_tiles.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/packed_tiles.h"

namespace gs::cpu {
namespace {

// Scatters to the columns of one matrix.
bool scatter_columns(Run run, int side, Plan part, const Buffers& buffers, MovePoints move) {
  IndexArray& index = part.index[0];
  const int64_t bytes = part.space.extent(side) * part.unit;
  const int64_t packed = index.extent * bytes;
  const TileMemory memory = tile_memory(2 * packed);
  if (memory == nullptr) return move.run(move.context, part, buffers);
  std::byte* const before = memory.get();
  std::byte* const after = before + packed;
  pack_columns(before, buffers.indexed, index.extent, index.step, bytes);
  std::memcpy(after, before, static_cast<std::size_t>(packed));
  const ChangedTile changed{buffers.indexed, index.step, before, after, index.extent, bytes};
  Buffers own = buffers;
  own.indexed = after;
  index.step = bytes;
  if (!move.run(move.context, part, own)) return false;
  write_changed_of(run)(changed, std::min<int64_t>(part.item, 8));
  return true;
}

}  // namespace

bool scatter_tile(Run run, const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers, int64_t begin,
                  MovePoints move) {
  const Space& space = plan.space;
  Buffers tile = buffers;
  const Plan columns =
      sliced(plan, tile, tiling.axis, begin, std::min(begin + tiling.columns, space.extent(tiling.axis)));
  int64_t matrices = 1;
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (counts_matrices(space, tiling, axis)) matrices *= space.extent(axis);
  }
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    Buffers own = tile;
    Plan part = columns;
    int64_t rest = matrix;
    for (int axis = space.rank() - 1; axis >= 0; --axis) {
      if (!counts_matrices(space, tiling, axis)) continue;
      const int64_t at = rest % space.extent(axis);
      rest /= space.extent(axis);
      part = sliced(part, own, axis, at, at + 1);
    }
    if (!scatter_columns(run, tiling.axis, part, own, move)) return false;
  }
  return true;
}

}  // namespace gs::cpu
