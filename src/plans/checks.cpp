// checks.cpp: implements the checks and helpers that planners share.
#include "plans/checks.h"

#include <algorithm>
#include <cstdlib>

#include "core/checked.h"

namespace gs {
namespace {

// The end of an error for an operand that has the first axes of `shape` instead of the last ones.
std::string step_to_last_axes(const Dims& given, const Dims& shape) {
  if (given.size() >= shape.size() || !std::equal(given.begin(), given.end(), shape.begin())) return "";
  Dims wanted = given;
  while (wanted.size() < shape.size()) wanted.push_back(1);
  return "; shapes are aligned at the last axis: give it the shape " + to_string(wanted);
}

}  // namespace

std::string to_string(const Dims& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

int normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw AxisError(axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void check_extents(const ArrayView& view) {
  int64_t span = view.item;
  bool fits = true;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const int64_t stride = view.stride[axis];
    if (view.extent[axis] == 0) return;    // no element is addressed
    if (view.extent[axis] == 1) continue;  // the stride is not used
    int64_t reach = 0;
    fits = fits && stride != INT64_MIN && !__builtin_mul_overflow(view.extent[axis] - 1, std::abs(stride), &reach) &&
           !__builtin_add_overflow(span, reach, &span);
  }
  if (!fits) throw ShapeError("array is too big: its size does not fit in 64 bits");
}

Dims broadcast_strides(const ArrayView& view, const Dims& shape, const char* what, const char* whose) {
  const int shift = shape.size() - view.rank();
  bool fits = shift >= 0;
  Dims stride(shape.size());
  for (int axis = 0; fits && axis < view.rank(); ++axis) {
    const int64_t n = view.extent[axis];
    if (n == shape[axis + shift]) {
      stride[axis + shift] = n == 1 ? 0 : view.stride[axis];
    } else {
      fits = n == 1;
    }
  }
  if (!fits) {
    throw ShapeError(std::string(what) + " of shape " + to_string(view.extent) + " does not broadcast to the shape " +
                     to_string(shape) + whose + step_to_last_axes(view.extent, shape));
  }
  return stride;
}

Dims broadcast_shape(const Dims& a, const Dims& b, const char* what_a, const char* what_b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  const int shift = longer.size() - shorter.size();
  Dims shape = longer;
  for (int axis = 0; axis < shorter.size(); ++axis) {
    int64_t& n = shape[axis + shift];
    if (n == 1) {
      n = shorter[axis];
    } else if (shorter[axis] != 1 && shorter[axis] != n) {
      throw ShapeError(std::string(what_a) + " of shape " + to_string(a) + " and " + what_b + " of shape " +
                       to_string(b) + " do not broadcast together");
    }
  }
  return shape;
}

Flattened flatten(const ArrayView& view) {
  check_extents(view);
  Flattened flat;
  flat.extent = checked_count(view.extent);
  if (view.rank() == 1) {
    flat.step = view.stride[0];
    return flat;
  }
  Space space(view.extent, 1);
  set_strides(space, 0, 0, view.stride.data(), view.rank());
  space.coalesce();
  if (space.rank() == 1) flat.step = space.stride(0, 0);
  if (space.rank() <= 1) return flat;
  for (int axis = 0; axis < space.rank(); ++axis) flat.fold.push_back({space.extent(axis), space.stride(0, axis)});
  return flat;
}

namespace {

// Strides of the dense side over the shape of the result.
Dims fitted_strides(const ArrayView& dense, const Dims& shape, Fit fit, const char* source) {
  if (dense.extent == shape) return dense.stride;
  if (fit == Fit::exact) {
    throw ShapeError("out has shape " + to_string(dense.extent) + ", the result has shape " + to_string(shape));
  }
  bool longer = fit == Fit::leading && dense.rank() == shape.size();
  for (int axis = 0; longer && axis < shape.size(); ++axis) longer = dense.extent[axis] >= shape[axis];
  if (longer) return dense.stride;
  // An index of shape (n, 1) names one element of each row of the values, so it fills one column.
  const int last = shape.size() - 1;
  const bool suggests_rows =
      fit == Fit::leading && last > 0 && shape[last] == 1 && dense.rank() > 0 && dense.extent[dense.rank() - 1] > 1;
  try {
    return broadcast_strides(dense, shape, source);
  } catch (const ShapeError& error) {
    if (!suggests_rows) throw;
    throw ShapeError(error.what() + std::string("; an index of shape (n, 1) fills one column") + kWholeRows);
  }
}

}  // namespace

constexpr const char* kOfPoints = " of the points";

Plan begin_plan(const ArrayView& input, const Dims& result_shape, const Dims& index_shape, int index_arrays, Rule rule,
                const Extras& extras) {
  check_extents(input);
  checked_mul(checked_count(result_shape), std::max<int64_t>(input.item, 1));
  checked_count(index_shape);
  Plan plan;
  plan.item = plan.unit = input.item;
  plan.rule = rule;
  plan.result_shape = result_shape;
  plan.index_shape = index_shape;
  plan.space = Space(result_shape, kIndex + index_arrays);
  plan.index_space = Space(index_shape, kIndex + index_arrays);
  if (extras.dense != nullptr) {
    check_extents(*extras.dense);
    const Dims stride = fitted_strides(*extras.dense, result_shape, extras.fit, extras.source);
    set_strides(plan.space, kDense, 0, stride.data(), result_shape.size());
  } else {
    const Dims stride = contiguous_strides(result_shape, input.item);
    set_strides(plan.space, kDense, 0, stride.data(), result_shape.size());
  }
  return plan;
}

void set_strides(Space& space, int operand, int first, const int64_t* stride, int count) {
  for (int axis = 0; axis < count; ++axis) space.stride(operand, first + axis) = stride[axis];
}

void set_index_side(Plan& plan, int operand, const Dims& stride, const SmallVector<int, 8>& axis_of) {
  for (int axis = 0; axis < axis_of.size(); ++axis) {
    plan.space.stride(operand, axis_of[axis]) = stride[axis];
    plan.index_space.stride(operand, axis) = stride[axis];
  }
}

void set_extras(Plan& plan, const Extras& extras, const SmallVector<int, 8>& axis_of) {
  plan.index_axes = axis_of;
  if (extras.mask != nullptr) {
    check_extents(*extras.mask);
    plan.masked = true;
    set_index_side(plan, kMask, broadcast_strides(*extras.mask, plan.index_shape, "mask", kOfPoints), axis_of);
  }
  if (extras.fill != nullptr) {
    check_extents(*extras.fill);
    if (extras.fill->item != plan.item) {
      throw DTypeError("fill value with items of " + std::to_string(extras.fill->item) +
                       " bytes, the input has items of " + std::to_string(plan.item) + " bytes");
    }
    set_index_side(plan, kFill, broadcast_strides(*extras.fill, plan.index_shape, "fill value", kOfPoints), axis_of);
  }
}

}  // namespace gs
