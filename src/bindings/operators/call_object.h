// call_object.h: holds a call of an operator that has not run yet: `_core.Call`. It is run, or a plan is made of it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/arguments/operands.h"
#include "bindings/arguments/plain_array.h"
#include "bindings/operators/lane_call.h"

namespace gs {

// What a call of an operator consists of. All objects are owned.
struct BoundCall {
  PyObject* holder = nullptr;  // the `_core.Call` that it is in
  OperatorRequest request;
  py::object input, indices, fill, mask, out, source;  // None or null: not given
  py::object axis;                                     // as it was written, for the message of a huge one
  py::object then;  // function that makes the public result of the result of the run; null: both are one
  py::object handler, handler_arguments;  // set by `otherwise`
  // If a call is more than one move, the function that runs it; null: the request is run. Its plan is that of the
  // request, unless `reason` says why it has none.
  py::object steps, reason;

  RawOperands operands() const;
};

// A new `_core.Call`, empty.
py::object new_call();
// The call in a `_core.Call`; null for any other object.
BoundCall* call_in(PyObject* object);

// Adopts the arguments, makes the plan and executes it. Returns a new reference, or null with a Python error.
PyObject* run_call(const BoundCall& call) noexcept;
// Returns the result of the `_core.Call` that the definition of an operator has returned, or any other object as it is.
// Steals the reference; null stays null.
PyObject* run_returned(PyObject* returned) noexcept;
// The end of the error about a call that is not a move.
inline constexpr const char* kMovesNothing = "the call would move nothing, or NumPy runs it";
// The `_core.Plan` of a call. Reads no index value. Throws a Python error.
py::object plan_call(const BoundCall& call);

// A plan, and the arrays whose geometry it was made for.
struct PlannedGather {
  std::shared_ptr<const Plan> plan;
  const PlainArray& input;
  const PlainArray& index;
};
// Runs a call of arrays (exact ndarrays or torch tensors), as a new reference. `planned` may be null, and is not used
// if an array has changed since. Throws before it reads a value if the input is a scalar or empty, because only the
// definition of the operator has the right message.
PyObject* run_plain(const OperatorRequest& request, const LaneCall& call, const PlannedGather* planned);

// Runs a scatter of three tensors of which torch has to know, as the definition of its operator would, as a new
// reference; null with a Python error.
PyObject* run_bound(const OperatorRequest& request, const LaneCall& call) noexcept;

void bind_calls(py::module_& module);

}  // namespace gs
