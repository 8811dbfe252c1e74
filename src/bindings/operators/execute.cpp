// execute.cpp: runs the calls of src/calls on operands, raises their errors and returns their results.
#include "bindings/operators/execute.h"

#include <string>
#include <utility>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/arguments/shared_file.h"
#include "bindings/arguments/to_python.h"
#include "bindings/devices/device_operands.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "calls/gather.h"
#include "calls/overlap.h"
#include "calls/scatter.h"
#include "core/error.h"
#include "plans/checks.h"

namespace gs {
namespace {

// The end of an error for a target that is read-only.
std::string step_to_write(const Operand& out) {
  const char* type = Py_TYPE((out.original ? out.original : out.object).ptr())->tp_name;
  return std::string(type) == "numpy.memmap" || std::string(type) == "memmap" ? "; mode='r+' opens its file for writing"
                                                                              : "";
}

// Throws if `out` is read-only, has another dtype than the input, or overlaps itself.
void check_out(const Operands& operands) {
  const Operand& out = operands.out;
  const bool in_place =
      out.object.is(operands.input.object) || (out.original && out.original.is(operands.input.original));
  const std::string what = in_place ? "the array to write to" : "out";
  if (!out.writable) throw ShapeError(what + " is read-only" + step_to_write(out));
  if (!out.type.matches(operands.input.type)) {
    throw DTypeError(what + " has dtype " + out.type.name() + ", the result has dtype " + operands.input.type.name());
  }
  if (overlaps_itself(out.view)) throw ShapeError(what + " overlaps itself: several of its elements share one address");
}

// Returns the object that the caller passed as `out`, after marking it as written in the library that owns it.
py::object return_out(const Operands& operands) {
  const py::object& out = operands.out.original ? operands.out.original : operands.out.object;
  if (operands.out.library != Library::numpy) dlpack::mark_written(out);
  return out;
}

// Operands and views are in the memory of the backend.
py::object run_planned_gather(const OperatorRequest& request, const Operands& operands, const Views& views,
                              const Plan& plan) {
  PythonContext context(operands.device_call);
  if (operands.out.given) {
    check_out(operands);
    Views own = views;
    if (detach_from_file(context, operands, own)) {
      finish(request, operands, run_gather_into(context, request, plan_for(request, operands, own), own));
    } else {
      finish(request, operands, run_gather_into(context, request, plan, views));
    }
    return return_out(operands);
  }
  Result result(operands, plan.result_shape);
  finish(request, operands, run_gather(context, request, plan, views, result.data()));
  return result.take();
}

}  // namespace

void finish(const OperatorRequest& request, const Operands& operands, CallResult&& result) {
  switch (result.ending) {
    case Ending::done: return release_streams(request, operands, std::move(result));
    case Ending::bad_index: {
      const py::object written = value_as_written(request, operands, *result.plan, *result.bad);
      raise_out_of_bounds(request.op, *result.plan, *result.bad, Moment::now, written);
    }
    case Ending::duplicate: throw ShapeError(duplicate_text(*result.plan, *result.duplicate));
    case Ending::interrupted: throw py::error_already_set();  // set by the poll
    case Ending::unstable: throw std::runtime_error(kUnstable);
  }
}

std::string duplicate_text(const Plan& plan, const Duplicate& found) {
  const auto position = [&](int64_t flat) { return to_string(unravel(index_position(plan, flat), plan.index_shape)); };
  return "duplicate indices: positions " + position(found.first) + " and " + position(found.second) +
         " write to the same element, which duplicates='error' forbids";
}

py::object execute_gather(const OperatorRequest& request, Operands& operands, const Plan* planned) {
  const Views views = views_of(operands);
  if (planned == nullptr) {  // before the copies, because the arguments may not fit together
    const Plan plan = plan_for(request, operands, views);
    if (!operands.device_call) return run_planned_gather(request, operands, views, plan);
    return execute_gather(request, operands, &plan);
  }
  if (!operands.device_call) return run_planned_gather(request, operands, views, *planned);
  const bool has_new_strides = copy_host_operands(request, operands);
  const Views copied = views_of(operands);
  if (!has_new_strides) return run_planned_gather(request, operands, copied, *planned);
  return run_planned_gather(request, operands, copied, plan_for(request, operands, copied));
}

py::object execute_scatter(const OperatorRequest& request, Operands& operands, const Plan* planned) {
  if (copy_host_operands(request, operands)) planned = nullptr;
  PythonContext context(operands.device_call);
  Views views = views_of(operands);
  if (operands.out.given) {
    check_out(operands);
    detach_from_file(context, operands, views);
    finish(request, operands, run_scatter_into(context, request, views));
    return return_out(operands);
  }
  Result result(operands, operands.input.view.extent);
  finish(request, operands, run_scatter(context, request, planned, views, result.data()));
  return result.take();
}

}  // namespace gs
