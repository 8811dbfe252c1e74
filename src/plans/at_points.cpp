// at_points.cpp: plans gathers and scatters of points, given by one index array for each axis.
#include "core/error.h"
#include "plans/checks.h"
#include "plans/plans.h"

namespace gs {

Plan at_points(const ArrayView& array, std::span<const IndexView> indices, const Dims& shape_of_points,
               int64_t batch_dims, Rule rule, const Extras& extras) {
  const int count = static_cast<int>(indices.size());
  Dims index_shape = shape_of_points;
  for (const IndexView& index : indices) {
    check_extents(index);
    index_shape = broadcast_shape(index_shape, index.extent, "indices", "index");
  }
  if (batch_dims < 0 || batch_dims > index_shape.size()) {
    throw ShapeError("batch_dims " + std::to_string(batch_dims) + " is not in [0, " +
                     std::to_string(index_shape.size()) + "], the rank of the indices");
  }
  const int batch = static_cast<int>(batch_dims);
  if (array.rank() < batch + count) {
    throw ShapeError(std::to_string(count) + " indices and " + std::to_string(batch) +
                     " batch_dims are too many for an array of shape " + to_string(array.extent));
  }
  for (int d = 0; d < batch; ++d) {
    if (array.extent[d] != index_shape[d]) {
      throw BatchShapeError("array of shape " + to_string(array.extent) + " and points of shape " +
                            to_string(index_shape) + " share " + std::to_string(batch) +
                            " leading axes (batch_dims), but axis " + std::to_string(d) + " has " +
                            std::to_string(array.extent[d]) + " and " + std::to_string(index_shape[d]) +
                            " positions; batch_dims=0 reads every point in the whole array");
    }
  }
  const int tail = array.rank() - batch - count;

  Dims shape = index_shape;
  shape.append(array.extent.data() + batch + count, tail);
  Plan plan = begin_plan(array, shape, index_shape, count, rule, extras);
  set_strides(plan.space, kIndexed, 0, array.stride.data(), batch);
  set_strides(plan.space, kIndexed, index_shape.size(), array.stride.data() + batch + count, tail);
  SmallVector<int, 8> axis_of;
  for (int d = 0; d < index_shape.size(); ++d) axis_of.push_back(d);
  for (int a = 0; a < count; ++a) {
    const IndexView& index = indices[static_cast<std::size_t>(a)];
    set_index_side(plan, kIndex + a, broadcast_strides(index, index_shape, "index"), axis_of);
    plan.index.push_back({index.type, batch + a, array.extent[batch + a], array.stride[batch + a]});
  }
  set_extras(plan, extras, axis_of);
  plan.finish();
  return plan;
}

}  // namespace gs
