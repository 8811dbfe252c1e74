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

constexpr int64_t kSampledPairs = 64;  // neighbours whose indices are compared

}  // namespace

bool follows_rows(const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers) {
  const Space& space = plan.space;
  if (!tiling.far) return false;
  int same = 0;
  for (int64_t sample = 0; sample < kSampledPairs; ++sample) {
    Dims at = unravel(space.count() / kSampledPairs * sample, space.extents());
    at[tiling.axis] = std::min(at[tiling.axis], space.extent(tiling.axis) - 2);
    int64_t offset = 0;
    for (int axis = 0; axis < space.rank(); ++axis) offset += at[axis] * space.stride(kIndex, axis);
    const std::byte* const own = buffers.index[0] + offset;
    const std::byte* const next = own + space.stride(kIndex, tiling.axis);
    same += std::memcmp(own, next, static_cast<std::size_t>(index_size(plan.index[0].type))) == 0;
  }
  return same > kSampledPairs / 2;
}

bool scatter_tile(const Kernels& kernels, const ColumnTiling& tiling, const Plan& plan, const Buffers& buffers,
                  int64_t number, MovePoints move) {
  Buffers own = buffers;
  Plan part = plan_of_tile(plan, tiling, number, own);
  IndexArray& index = part.index[0];
  const int64_t columns = part.space.extent(tiling.axis);
  const int64_t bytes = columns * part.unit;
  const int64_t packed = index.extent * bytes;
  const TileMemory memory = tile_memory(2 * packed);
  if (memory == nullptr) return move.run(move.context, part, own);
  // The first point may be in the last column.
  const int64_t first = part.space.stride(kIndexed, tiling.axis) < 0 ? bytes - part.unit : 0;
  std::byte* const before = memory.get();
  std::byte* const after = before + packed;
  pack_columns(before, own.indexed - first, index.extent, index.step, bytes);
  std::memcpy(after, before, static_cast<std::size_t>(packed));
  const ChangedTile changed{own.indexed - first, index.step, before, after, index.extent, bytes};
  own.indexed = after + first;
  index.step = bytes;
  if (!move.run(move.context, part, own)) return false;
  kernels.write_changed(changed, std::min<int64_t>(part.item, 8));
  return true;
}

}  // namespace gs::cpu
