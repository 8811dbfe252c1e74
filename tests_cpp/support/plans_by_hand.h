// plans_by_hand.h: small plans of one index array, for tests of what is decided by the geometry of a plan.
#pragma once

#include "core/plan.h"

namespace gs::test {

// take(source, index): `points` units from a contiguous axis of `extent` units.
inline Plan take_plan(int64_t points, int64_t unit = 4, IndexType type = IndexType::i64, int64_t extent = 100) {
  Plan plan;
  plan.item = plan.unit = unit;
  plan.space = Space(Dims{points}, kIndex + 1);
  plan.space.stride(kDense, 0) = unit;
  plan.space.stride(kIndex, 0) = index_size(type);
  plan.index.push_back({type, 0, extent, unit});
  plan.result_shape = plan.index_shape = Dims{points};
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

// gather(source, 0, index) of two axes: result[i, j] = source[index[i, j], j], all arrays in C order.
inline Plan gather_plan(int64_t wanted, int64_t rows, int64_t columns, int64_t unit = 4) {
  Plan plan;
  plan.item = plan.unit = unit;
  plan.space = Space(Dims{wanted, columns}, kIndex + 1);
  plan.space.stride(kDense, 0) = columns * unit;
  plan.space.stride(kDense, 1) = plan.space.stride(kIndexed, 1) = unit;
  plan.space.stride(kIndex, 0) = columns * 8;
  plan.space.stride(kIndex, 1) = 8;
  plan.index.push_back({IndexType::i64, 0, rows, columns * unit});
  plan.result_shape = plan.index_shape = Dims{wanted, columns};
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

}  // namespace gs::test
