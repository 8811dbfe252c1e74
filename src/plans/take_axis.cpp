// take_axis.cpp: plans gathers and scatters of slices along one axis, with optional leading batch axes.
#include "core/checked.h"
#include "plans/checks.h"
#include "plans/plans.h"

namespace gs {
namespace {

void check_batch(const ArrayView& input, const IndexView& indices, int axis, int64_t batch_dims) {
  if (batch_dims < 0 || batch_dims > indices.rank()) {
    throw ShapeError("batch_dims " + std::to_string(batch_dims) + " is not in [0, " + std::to_string(indices.rank()) +
                     "], the rank of the indices");
  }
  if (batch_dims > axis) {
    throw ShapeError("batch_dims " + std::to_string(batch_dims) + " is greater than axis " + std::to_string(axis));
  }
  for (int d = 0; d < batch_dims; ++d) {
    if (input.extent[d] != indices.extent[d]) {
      throw BatchShapeError("input of shape " + to_string(input.extent) + " and indices of shape " +
                            to_string(indices.extent) + " share " + std::to_string(batch_dims) +
                            " leading axes (batch_dims), but axis " + std::to_string(d) + " has " +
                            std::to_string(input.extent[d]) + " and " + std::to_string(indices.extent[d]) +
                            " positions; batch_dims=0 reads every index in the whole input");
    }
  }
}

}  // namespace

Plan take_axis(const ArrayView& input, const IndexView& indices, std::optional<int64_t> axis, int64_t batch_dims,
               Rule rule, const Extras& extras) {
  // Without an axis, the input is seen as one flat axis, with no axes before or after it: `at` and `tail` are 0.
  const bool flat = !axis.has_value();
  const int at = flat ? 0 : normalize_axis(*axis, input.rank());
  const int tail = flat ? 0 : input.rank() - at - 1;
  if (flat && batch_dims != 0) {
    throw ShapeError("batch_dims is " + std::to_string(batch_dims) + ", expected 0 where axis is None");
  }
  check_batch(input, indices, at, batch_dims);
  check_extents(indices);
  const int batch = static_cast<int>(batch_dims);

  Dims shape;
  shape.append(input.extent.data(), at);
  shape.append(indices.extent.data() + batch, indices.rank() - batch);
  shape.append(input.extent.data() + at + 1, tail);

  Plan plan = begin_plan(input, shape, indices.extent, 1, rule, extras);
  set_strides(plan.space, kIndexed, 0, input.stride.data(), at);
  set_strides(plan.space, kIndexed, shape.size() - tail, input.stride.data() + at + 1, tail);
  SmallVector<int, 8> axis_of;
  for (int d = 0; d < indices.rank(); ++d) axis_of.push_back(d < batch ? d : d - batch + at);
  set_index_side(plan, kIndex, indices.stride, axis_of);
  set_extras(plan, extras, axis_of);
  if (flat) {
    const Flattened source = flatten(input);
    plan.index.push_back({indices.type, 0, source.extent, source.step});
    plan.fold = source.fold;
  } else {
    plan.index.push_back({indices.type, at, input.extent[at], input.stride[at]});
  }
  plan.finish();
  return plan;
}

}  // namespace gs
