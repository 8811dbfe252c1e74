// column_cases.h: random plans along an axis that is not the fast one of the indexed side.
#pragma once

#include <ostream>

#include "cpu_cases.h"

namespace gs::test {

// Matrices of `rows` x `columns` items, and `wanted` points of each column of each batch.
struct ColumnSpec {
  int64_t unit = 4;
  int64_t rows = 0;     // 0: random
  int64_t columns = 0;  // 0: random
  int64_t wanted = 1;
  int64_t batches = 0;  // 0: random
  bool across = false;  // columns of the indexed side are rows of the dense side
};

inline std::ostream& operator<<(std::ostream& out, const ColumnSpec& spec) {
  return out << "unit " << spec.unit << ", " << spec.batches << " matrices of " << spec.rows << " x " << spec.columns
             << ", points " << spec.wanted << (spec.across ? ", across" : "");
}

// The same points, with two axes exchanged.
inline Space swapped(const Space& space, int a, int b) {
  Space other = space;
  for (int axis : {a, b}) {
    const int from = a + b - axis;
    other.set_extent(axis, space.extent(from));
    for (int operand = 0; operand < space.operands(); ++operand) {
      other.stride(operand, axis) = space.stride(operand, from);
    }
  }
  return other;
}

// Chooses what `spec` leaves open, and a case of it with any index type, rule and mask.
inline Case column_case(ColumnSpec& spec, Random& random, Direction direction = Direction::gather) {
  const auto choose = [&random](int64_t& value, int64_t least, int64_t most) {
    if (value == 0) value = random.from(least, most);
  };
  choose(spec.rows, 2, 16);
  choose(spec.columns, 130, 400);
  if (spec.batches == 0) spec.batches = random.pick<int64_t>({1, 1, 3});
  CaseSpec one;
  one.direction = direction;
  one.item = spec.unit;
  one.type = static_cast<IndexType>(random.from(0, 7));
  one.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::unchecked});
  one.rule.negative = random.chance(50) ? Negative::from_end : Negative::out_of_bounds;
  one.bad = one.rule.bounds != Bounds::unchecked && random.chance(one.rule.bounds == Bounds::raise ? 20 : 100);
  if (direction == Direction::scatter && one.rule.bounds == Bounds::raise) one.bad = false;
  one.masked = random.chance(30);
  one.plain = true;
  one.anchored = true;
  one.extent = Dims{spec.batches, spec.wanted, spec.columns};
  Case test = make_case(one, random);
  // Each case has an indexed side of its own: batches of matrices with all columns of a row in one piece.
  test.plan = Plan();
  Plan& plan = test.plan;
  plan.item = plan.unit = spec.unit;
  plan.rule = one.rule;
  plan.masked = one.masked;
  plan.space = Space(one.extent, kIndex + 1);
  const int64_t size = index_size(one.type);
  const int64_t unit = spec.unit;
  const int64_t columns = spec.columns;
  const int64_t strides[][5] = {{spec.wanted * columns * unit, spec.rows * columns * unit, spec.wanted * columns, 0,
                                 spec.wanted * columns * size},
                                {columns * unit, 0, columns, 0, columns * size},
                                {unit, unit, 1, 0, size}};
  for (int axis = 0; axis < 3; ++axis) {
    for (int operand = 0; operand < 5; ++operand) plan.space.stride(operand, axis) = strides[axis][operand];
    if (!one.masked) plan.space.stride(kMask, axis) = 0;
  }
  if (spec.across) {  // the dense side, its mask and its indices are packed in the order of their axes
    plan.space = swapped(plan.space, 1, 2);
    for (const auto& [operand, item] :
         {std::pair(+kDense, unit), std::pair(+kMask, int64_t{1}), std::pair(+kIndex, size)}) {
      if (operand == kMask && !one.masked) continue;
      if (random.chance(30)) continue;  // or a walk along the columns
      plan.space.stride(operand, 1) = spec.wanted * item;
      plan.space.stride(operand, 2) = item;
    }
  }
  IndexArray index;
  index.type = one.type;
  index.extent = spec.rows;
  index.step = columns * unit;
  plan.index.push_back(index);
  test.indexed = make_array({0, spec.batches * spec.rows * columns * unit}, random);
  for (int64_t k = 0; k < spec.batches * spec.wanted * columns; ++k) {
    store(test.index[0].data() + k * size, one.type, choose_value(one.type, spec.rows, one.rule, one.bad, random));
  }
  plan.result_shape = plan.index_shape = plan.space.extents();
  plan.index_space = plan.space;
  plan.finish();
  return test;
}

}  // namespace gs::test
