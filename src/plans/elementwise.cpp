// elementwise.cpp: plans a copy without index arrays, with an optional mask.
#include "plans/checks.h"
#include "plans/plans.h"

namespace gs {

Plan elementwise(const ArrayView& input, const Dims& shape, const Extras& extras) {
  Plan plan = begin_plan(input, shape, shape, 0, Rule{}, extras);
  const Dims stride = broadcast_strides(input, shape, "input");
  set_strides(plan.space, kIndexed, 0, stride.data(), shape.size());
  SmallVector<int, 8> axis_of;
  for (int d = 0; d < shape.size(); ++d) axis_of.push_back(d);
  set_extras(plan, extras, axis_of);
  plan.finish();
  return plan;
}

}  // namespace gs
