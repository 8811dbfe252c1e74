// checks.h: declares the checks of shapes, axes and operands, and the helpers, that planners share.
#pragma once

#include <cstdint>
#include <string>

#include "core/plan.h"
#include "plans/plans.h"

namespace gs {

// The end of an error of the elementwise form, where the shapes suggest that whole rows were meant.
inline constexpr const char* kWholeRows =
    "; whole rows are gather(input, indices, axis=0) and scatter(input, indices, src, axis=0)";

std::string to_string(const Dims& shape);  // in the form of a Python tuple

// Maps an axis in [-rank, rank) to [0, rank); throws AxisError for any other.
int normalize_axis(int64_t axis, int rank);

// Throws ShapeError if a byte offset inside the array, or its size, does not fit in 64 bits.
void check_extents(const ArrayView& view);

// Strides of `view` broadcast one way to `shape`: axes are right-aligned, an extent of 1 stretches. Throws ShapeError,
// which names `view` as `what`, and says `whose` the shape is, if `view` does not broadcast.
Dims broadcast_strides(const ArrayView& view, const Dims& shape, const char* what, const char* whose = "");

// The shape to which `a` and `b` broadcast together. Throws ShapeError with both shapes if they do not.
Dims broadcast_shape(const Dims& a, const Dims& b, const char* what_a, const char* what_b);

// An array seen as one flat axis: its extent, and either one step or a fold.
struct Flattened {
  int64_t extent = 0;
  int64_t step = 0;
  SmallVector<FoldAxis, 2> fold;
};
Flattened flatten(const ArrayView& view);

// Starts a plan: checks the operands against the shape of the result and sets the strides of the dense side.
Plan begin_plan(const ArrayView& input, const Dims& result_shape, const Dims& index_shape, int index_arrays, Rule rule,
                const Extras& extras);

// Sets the strides of an operand along the axes first, first + 1, .. of `space`.
void set_strides(Space& space, int operand, int first, const int64_t* stride, int count);

// Sets the strides of an operand with the index shape (mask, fill value or index array), in the plan's space, where
// index axis i is axis `axis_of[i]`, and in its index space.
void set_index_side(Plan& plan, int operand, const Dims& stride, const SmallVector<int, 8>& axis_of);

// Sets the plan's index axes, and the strides of mask and fill value.
void set_extras(Plan& plan, const Extras& extras, const SmallVector<int, 8>& axis_of);

}  // namespace gs
