// run.h: declares one call of an operator, from Python objects to the finished result.
#pragma once

#include "bindings/operands.h"

namespace gs {

// Adopts the arguments, makes the plan and executes it. In planning mode (plan_object.h), returns the Plan object
// instead.
py::object run(OperatorRequest request, const RawOperands& raw);

// Like `run`, for two plain arrays (exact ndarrays or torch tensors) without any other argument. Throws before it reads
// a value if the input is a scalar or its axis is empty, because only the operator's Python function has the right
// message.
py::object run_plain(const OperatorRequest& request, py::handle input, py::handle index);

}  // namespace gs
