// execute.h: declares the run of a planned call from operands to the finished Python result.
#pragma once

#include <string>

#include "bindings/arguments/operands.h"
#include "calls/call_result.h"

namespace gs {

// Raises the error of a call that was not completed; otherwise orders the streams of its operands behind it.
void finish(const OperatorRequest& request, const Operands& operands, CallResult&& result);

// Both copy host operands to the device of the call before they run. A ShapeError, DTypeError or AxisError is thrown
// before anything is read or written; the lane relies on that.

// Runs a gather into `out` or into a fresh array. `planned` is its plan for the operands where they are, or null.
py::object execute_gather(const OperatorRequest& request, Operands& operands, const Plan* planned);
// Runs a scatter into `out`, or into a copy of the input. `planned` is a plan for such a copy, or null.
py::object execute_scatter(const OperatorRequest& request, Operands& operands, const Plan* planned);

// The message of the error about an index that another thread keeps changing.
inline constexpr const char* kUnstable = "the index array kept changing while it was used";
// The message of the error about two points with one target.
std::string duplicate_text(const Plan& plan, const Duplicate& found);

}  // namespace gs
