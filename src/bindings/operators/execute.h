// execute.h: declares the run of a planned call from operands to the finished Python result.
#pragma once

#include <string>

#include "bindings/arguments/operands.h"

namespace gs {

// Both copy host operands to the device of the call before they run. A ShapeError, DTypeError or AxisError is thrown
// before anything is read or written; the lane relies on that.

// Runs a gather into `out` or into a fresh array. `planned` is its plan for the operands where they are, or null.
py::object execute_gather(const OperatorRequest& request, Operands& operands, const Plan* planned);
// Runs a scatter into `out`, or into a copy of the input. `planned` is a plan for such a copy, or null.
py::object execute_scatter(const OperatorRequest& request, Operands& operands, const Plan* planned);

// The message of the error about two points with one target.
std::string duplicate_text(const Plan& plan, const Duplicate& found);

}  // namespace gs
