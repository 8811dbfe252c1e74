// callable.h: declares the callables of this package, operators and plans, whose frequent calls need no Python frame.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `Operator`; `operator(function, forms, returns_none)`, which makes one of the Python function that defines it;
// `plan_of`; `PlanBase`, which holds a plan as `_core`; and `plan_class`, a decorator for the class that derives from
// it.
//
// The definition of an operator returns a `Call`, which the operator runs and `plan_of` makes a plan of. It runs for
// each call that the forms do not read or the lane declines, and raises every error about arguments that do not fit
// together.
void bind_callables(pybind11::module_& module);

}  // namespace gs
