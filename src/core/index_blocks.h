// index_blocks.h: walks the indices of a plan in blocks of points that lie side by side.
#pragma once

#include <algorithm>

#include "core/plan.h"

namespace gs {

// The distance in bytes between two neighbouring points of a block, of the mask or an index array.
inline int64_t inner_stride(const Plan& plan, int operand) {
  const Space& space = plan.index_space;
  return space.rank() == 0 ? 0 : space.stride(operand, space.rank() - 1);
}

// Walks the points [first, last) of the index space in blocks of at most `most` points, each within one run of the
// innermost axis. Calls visit(flat, buffers, count) for each block, where the mask and the index arrays of `buffers`
// begin at the first point of the block, until visit returns false.
template <class Visit>
void for_each_index_block(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last, int64_t most,
                          Visit&& visit) {
  const Space& space = plan.index_space;
  const int rank = space.rank();
  const int64_t run = rank == 0 ? 1 : space.extent(rank - 1);
  if (first >= last) return;
  Buffers row = buffers;
  Dims position = unravel(first, space.extents());
  int64_t begin = rank == 0 ? 0 : position[rank - 1];  // offset in the first run; every other run begins at 0
  for (int axis = 0; axis < rank - 1; ++axis) {
    if (row.mask) row.mask += position[axis] * space.stride(kMask, axis);
    for (int a = 0; a < plan.index.size(); ++a) row.index[a] += position[axis] * space.stride(kIndex + a, axis);
  }
  for (int64_t flat = first - begin;; flat += run) {
    Buffers at = row;
    const int64_t end = std::min(run, last - flat);
    for (; begin < end; begin += most) {
      const int64_t count = std::min(end - begin, most);
      if (at.mask) at.mask = row.mask + begin * inner_stride(plan, kMask);
      for (int a = 0; a < plan.index.size(); ++a) at.index[a] = row.index[a] + begin * inner_stride(plan, kIndex + a);
      if (!visit(flat + begin, at, count)) return;
    }
    if (flat + run >= last) return;
    begin = 0;
    for (int axis = rank - 2; axis >= 0; --axis) {
      const bool more = ++position[axis] < space.extent(axis);
      const int64_t steps = more ? 1 : 1 - space.extent(axis);
      if (row.mask) row.mask += steps * space.stride(kMask, axis);
      for (int a = 0; a < plan.index.size(); ++a) row.index[a] += steps * space.stride(kIndex + a, axis);
      if (more) break;
      position[axis] = 0;
    }
  }
}

}  // namespace gs
