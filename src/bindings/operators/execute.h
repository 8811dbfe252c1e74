// execute.h: declares the run of a planned call from operands to the finished Python result.
#pragma once

#include "bindings/arguments/operands.h"

namespace gs {

// Runs the plan of a gather on the operands, into `out` or into a fresh array.
py::object execute_gather(const OperatorRequest& request, const Plan& plan, const Operands& operands);

// Copies host operands to the device of the call, then runs a scatter into `out`, or into a copy of the input.
// `planned` is a plan for such a copy, or null.
py::object execute_scatter(const OperatorRequest& request, Operands& operands, const Plan* planned);

}  // namespace gs
