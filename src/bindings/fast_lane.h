// fast_lane.h: declares the callables that run public operators on their most frequent arguments without a Python
// frame.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `operator_lane(name)`, a decorator for the Python function that defines an operator.
void bind_fast_lane(pybind11::module_& module);

}  // namespace gs
