// scatter_parts.cpp: slices of an axis, tiles of columns, and pieces of units.
#include "backends/cpu/scatter_parts.h"

#include <algorithm>
#include <cstdlib>

namespace gs::cpu {

std::vector<TaskPart> slices(const Plan& plan, const Tuning& tuning, int threads, AddressRange own) {
  const Space& space = plan.space;
  std::vector<TaskPart> parts;
  for (int axis = 0; axis < space.rank() && parts.empty(); ++axis) {
    const int64_t extent = space.extent(axis);
    const int64_t share = extent / threads;
    const int64_t stride = std::abs(space.stride(kIndexed, axis));
    if (share == 0 || stride == 0 || stride < tuning.min_slice_bytes / share) continue;
    const int64_t wanted = std::max<int64_t>(int64_t{threads} * kPartsPerThread, space.count() / kMaxChunkPoints);
    const int64_t many = axis == 0 ? wanted : threads;
    const int64_t step = (extent + std::min(many, extent) - 1) / std::min(many, extent);
    for (int64_t begin = 0; begin < extent; begin += step) {
      parts.push_back({own, axis, begin, std::min(begin + step, extent)});
    }
  }
  return parts;
}

std::vector<TaskPart> pieces(const Plan& plan, const Tuning& tuning, int threads, AddressRange own) {
  const int64_t unit = plan.unit;
  std::vector<TaskPart> parts;
  if (unit < 2 * tuning.min_piece_bytes) return parts;
  if (plan.space.count() >= int64_t{threads} * kChunksPerThread) return parts;
  const int64_t piece = std::max((unit / threads + 63) / 64 * 64, tuning.min_piece_bytes);
  for (int64_t begin = 0; begin < unit; begin += piece) {
    parts.push_back({own, -1, begin, std::min(begin + piece, unit), static_cast<int64_t>(parts.size())});
  }
  return parts;
}

std::vector<TaskPart> tiles(const Plan& plan, const ColumnTiling& tiling) {
  const int64_t count = tiles_of(plan.space, tiling);
  const int64_t step = (count + kMostTileParts - 1) / kMostTileParts;
  std::vector<TaskPart> parts;
  for (int64_t begin = 0; begin < count; begin += step) {
    parts.push_back({{}, -1, begin, std::min(begin + step, count), 0, tiling});
  }
  return parts;
}

}  // namespace gs::cpu
