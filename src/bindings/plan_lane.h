// plan_lane.h: calls of prepared plans, straight to the move for the commonest arguments.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `PlanBase`, which holds a plan as `_core`, and `plan_lane`, a decorator for the class that derives from it. The
// `__call__` of that class stays the definition: whatever is unusual is its business.
void bind_plan_lane(pybind11::module_& module);

}  // namespace gs
