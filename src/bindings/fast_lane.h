// fast_lane.h: public operators as callables that go straight to a planner for the commonest arguments.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `operator_lane(name)`, a decorator for the Python function that defines an operator.
void bind_fast_lane(pybind11::module_& module);

}  // namespace gs
