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

enum class Order { c, f };

// The strides of an array of `rows` x `columns` items.
inline void lay(Plan& plan, int operand, Order order, int64_t item) {
  const int64_t rows = plan.space.extent(0);
  const int64_t columns = plan.space.extent(1);
  plan.space.stride(operand, 0) = order == Order::c ? columns * item : item;
  plan.space.stride(operand, 1) = order == Order::c ? item : rows * item;
}

// Each row of a matrix has indices of its own along it, and `items` items of 4 bytes for each position.
inline Plan rows_plan(int64_t rows, int64_t points, int64_t extent, int64_t items = 1) {
  Plan plan;
  plan.item = 4;
  plan.unit = items * 4;
  plan.space = Space(Dims{rows, points}, kIndex + 1);
  plan.space.stride(kDense, 0) = points * plan.unit;
  plan.space.stride(kDense, 1) = plan.unit;
  plan.space.stride(kIndexed, 0) = extent * plan.unit;
  plan.space.stride(kIndex, 0) = points * 8;
  plan.space.stride(kIndex, 1) = 8;
  plan.index.push_back({IndexType::i64, 1, extent, plan.unit});
  plan.result_shape = plan.index_shape = Dims{rows, points};
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

// result = take(source, index) from a contiguous axis, with two axes.
inline Plan flat_plan(int64_t rows, int64_t columns, Order result, Order index) {
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{rows, columns}, kIndex + 1);
  lay(plan, kDense, result, 4);
  lay(plan, kIndex, index, 8);
  plan.index.push_back({IndexType::i64, 0, 1000, 4});
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

// As gather(source, dim, index) with a square source array.
inline Plan along_plan(int64_t side, int dim, Order source, Order index, Order result = Order::c) {
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{side, side}, kIndex + 1);
  lay(plan, kDense, result, 4);
  lay(plan, kIndex, index, 8);
  lay(plan, kIndexed, source, 4);
  const int64_t step = plan.space.stride(kIndexed, dim);
  plan.space.stride(kIndexed, dim) = 0;
  plan.index.push_back({IndexType::i64, 0, side, step});
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

}  // namespace gs::test
