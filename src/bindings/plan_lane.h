// plan_lane.h: declares the class whose calls run prepared plans on their most frequent arguments without a Python
// frame.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `PlanBase`, which holds a plan as `_core`, and `plan_lane`, a decorator for the class that derives from it. The
// `__call__` of that class defines the call: it runs every form of call that is not a small call.
void bind_plan_lane(pybind11::module_& module);

}  // namespace gs
