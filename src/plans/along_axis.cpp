// along_axis.cpp: plans an elementwise gather or scatter along one axis.
#include "core/error.h"
#include "plans/checks.h"
#include "plans/plans.h"

namespace gs {
namespace {

// Shape of the result. The index broadcasts to it.
Dims matched_shape(const ArrayView& input, const IndexView& index, int axis, Match match) {
  Dims shape = index.extent;
  for (int d = 0; d < shape.size(); ++d) {
    if (d == axis) continue;
    const int64_t n = input.extent[d];
    if (match == Match::prefix ? shape[d] <= n : shape[d] == n || shape[d] == 1 || n == 1) {
      if (match == Match::broadcast && shape[d] == 1) shape[d] = n;
      continue;
    }
    const char* rule = match == Match::prefix ? "is longer than the input" : "does not broadcast with the input";
    throw ShapeError("index of shape " + to_string(index.extent) + " " + rule + " of shape " + to_string(input.extent) +
                     " on axis " + std::to_string(d));
  }
  return shape;
}

Plan flat_along_axis(const ArrayView& input, const IndexView& index, Rule rule, const Extras& extras) {
  if (index.rank() != 1) {
    throw ShapeError("index of shape " + to_string(index.extent) + " must have a single dimension where axis is None");
  }
  return take_axis(input, index, std::nullopt, 0, rule, extras);
}

}  // namespace

Plan along_axis(const ArrayView& input, const IndexView& index, std::optional<int64_t> axis, Match match, Rule rule,
                const Extras& extras) {
  if (!axis) return flat_along_axis(input, index, rule, extras);
  const int rank = input.rank();
  // A scalar counts as an array of one element, as in the source systems.
  const int at = normalize_axis(*axis, rank == 0 ? 1 : rank);
  if (index.rank() != rank) {
    // Fewer axes than the input has suggest that whole rows were meant.
    const bool suggests_rows = match == Match::prefix && index.rank() < rank;
    throw ShapeError("index of shape " + to_string(index.extent) + " has rank " + std::to_string(index.rank()) +
                     ", input of shape " + to_string(input.extent) + " has rank " + std::to_string(rank) +
                     (suggests_rows ? kWholeRows : ""));
  }
  check_extents(index);
  const Dims shape = matched_shape(input, index, at, match);

  Plan plan = begin_plan(input, shape, shape, 1, rule, extras);
  SmallVector<int, 8> axis_of;
  for (int d = 0; d < rank; ++d) {
    axis_of.push_back(d);
    const bool stretched = match == Match::broadcast && input.extent[d] == 1;
    plan.space.stride(kIndexed, d) = d == at || stretched ? 0 : input.stride[d];
  }
  set_index_side(plan, kIndex, broadcast_strides(index, shape, "index"), axis_of);
  set_extras(plan, extras, axis_of);
  plan.index.push_back({index.type, at, rank == 0 ? 1 : input.extent[at], rank == 0 ? 0 : input.stride[at]});
  plan.finish();
  return plan;
}

}  // namespace gs
