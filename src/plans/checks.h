// checks.h: what planners ask of shapes, axes and operands; every failure says what came and what was expected.
#pragma once

#include <cstdint>
#include <string>

#include "core/plan.h"
#include "plans/plans.h"

namespace gs {

std::string to_string(const Dims& shape);  // as Python prints a tuple

// axis in [-rank, rank) as a number in [0, rank); AxisError otherwise.
int normalize_axis(int64_t axis, int rank);

// Throws ShapeError where a byte offset inside the array, or its size, does not fit in 64 bits.
void check_extents(const ArrayView& view);

// Strides with which `view` is walked over `shape`: right-aligned, extent 1 stretches. ShapeError if `view` would have
// to be larger than `shape`.
Dims broadcast_strides(const ArrayView& view, const Dims& shape, const char* what);

// The shape to which both broadcast. ShapeError naming both shapes.
Dims broadcast_shape(const Dims& a, const Dims& b, const char* what_a, const char* what_b);

// A source seen as one flat axis: an extent and either one step or a fold.
struct Flattened {
  int64_t extent = 0;
  int64_t step = 0;
  SmallVector<FoldAxis, 2> fold;
};
Flattened flatten(const ArrayView& view);

// Starts a plan: checks the operands against the result shape and sets the strides of the dense side.
Plan begin_plan(const ArrayView& input, const Dims& result_shape, const Dims& index_shape, int index_arrays, Rule rule,
                const Extras& extras);

// Sets strides along `space`'s axes first, first + 1, ..
void set_strides(Space& space, int operand, int first, const int64_t* stride, int count);

// Sets mask, fill and index strides for index axes that lie at `axis_of[i]` of the iteration space, and the same in the
// plan's index space.
void set_index_side(Plan& plan, int operand, const Dims& stride, const SmallVector<int, 8>& axis_of);

// Where the index axes lie, and mask and fill over the index shape.
void set_extras(Plan& plan, const Extras& extras, const SmallVector<int, 8>& axis_of);

}  // namespace gs
