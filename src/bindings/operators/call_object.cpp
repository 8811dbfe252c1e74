// call_object.cpp: runs calls of operators and makes plans of them.
#include "bindings/operators/call_object.h"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/arguments/jax_part.h"
#include "bindings/arguments/torch_part.h"
#include "bindings/devices/device_operands.h"
#include "bindings/operators/execute.h"
#include "bindings/operators/plan_object.h"
#include "bindings/operators/plan_state.h"
#include "bindings/operators/torch_lane.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "core/error.h"

namespace gs {
namespace {

struct CallObject {
  PyObject_HEAD BoundCall call;
};

PyTypeObject* call_type = nullptr;

void free_call(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<CallObject*>(object)->call.~BoundCall();
  type->tp_free(object);
  Py_DECREF(type);
}

BoundCall& self_of(PyObject* object) {
  return reinterpret_cast<CallObject*>(object)->call;
}

// Throws the AxisError of a call again. The axis of a request is an int64, so that a huge one was cut; the message has
// the axis as it was written.
[[noreturn]] void raise_axis_error(const BoundCall& call, const AxisError& error) {
  if (error.axis != INT64_MAX && error.axis != INT64_MIN) throw;
  const py::object make = python_part("gatherscatter.errors", "axis_error");
  const py::object full = python::call(make, call.request.op, call.axis, py::int_(error.rank));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(full.ptr())), full.ptr());
  throw py::error_already_set();
}

// What a call consists of, for Python: the fields of `Request` in gatherscatter/_moves/request.py.
py::tuple parts_of(const BoundCall& call) {
  const OperatorRequest& request = call.request;
  const RawOperands raw = call.operands();
  const auto word = [](const char* text) {
    return py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text));
  };
  const bool scatters = request.direction == Direction::scatter;
  const bool drops = scatters && request.rule.bounds == Bounds::fill;
  const py::object axis = request.axis ? py::object(py::int_(*request.axis)) : py::none();
  const bool sets = request.combine.reduce == Reduce::set;
  return py::make_tuple(request.op, word(request.coordinates ? "coordinates" : name_of(request.planner)), raw.input,
                        raw.indices ? raw.indices : py::handle(Py_None), axis, request.batch_dims,
                        word(request.match == Match::prefix ? "prefix" : "broadcast"),
                        word(drops ? "drop" : name_of(request.rule.bounds)), word(name_of(request.rule.negative)),
                        scatters, sets ? py::object(py::none()) : word(name_of(request.combine.reduce)),
                        request.combine.include_self, word(name_of(request.duplicates)), raw.fill, raw.mask, raw.source,
                        raw.out);
}

// Runs a call that a library has to know of, because it records gradients or traces. `route` is the function that does
// it, which returns NotImplemented for a call that it has no rule for.
py::object run_by(PyObject* route, const BoundCall& call) {
  return python::answer([&] { return PyObject_CallOneArg(route, call.holder); });
}

// Runs a small call that records a gradient. Declined for all others.
LaneResult run_small_in_torch(const BoundCall& call) {
  const OperatorRequest& request = call.request;
  const RawOperands raw = call.operands();
  const auto given = [](py::handle object) { return object.is_none() ? nullptr : object.ptr(); };
  if (!raw.indices || request.batch_dims != 0 || request.planner == Planner::elementwise ||
      (request.planner == Planner::at_points && !request.coordinates)) {
    return LaneResult::declined();
  }
  CallKey key;
  key.direction = request.direction;
  key.planner = request.planner;
  key.match = request.match;
  key.rule = request.rule;
  key.axis = request.axis.value_or(CallKey::kNoAxis);
  key.combine = request.combine;
  const bool scatters = request.direction == Direction::scatter;
  return run_in_torch_lane({key, raw.input.ptr(), raw.indices.ptr(), scatters ? raw.source.ptr() : nullptr,
                            given(raw.out), given(raw.mask), given(raw.fill)});
}

py::object run_request(const BoundCall& call) {
  if (call.request.tile.empty() && torch_takes_part(call.operands())) {
    if (const LaneResult small = run_small_in_torch(call); !small.is_declined()) {
      if (small.object() == nullptr) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(small.object());
    }
    static PyObject* kept = nullptr;
    py::object result = run_by(kept_part(kept, "gatherscatter._torch.route", "route"), call);
    if (result.ptr() != Py_NotImplemented) return result;
  }
  if (call.request.tile.empty() && jax_takes_part(call.operands())) {
    static PyObject* kept = nullptr;
    return run_by(kept_part(kept, "gatherscatter._xla.route", "route"), call);
  }
  Operands operands;
  adopt_all(call.request, call.operands(), operands);
  std::optional<OperatorRequest> own;  // a copy for the changes, because a call may run again
  if (call.request.combine.reduce != Reduce::set || has_wide(operands)) {
    own = call.request;
    set_number(*own, operands);
    resolve_wide(*own, operands);
  }
  const OperatorRequest& request = own ? *own : call.request;
  const bool scatters = request.direction == Direction::scatter;
  return scatters ? execute_scatter(request, operands, nullptr) : execute_gather(request, operands, nullptr);
}

// Counts a level of recursion: a handler may return the call that it handles.
struct RecursionScope {
  RecursionScope() {
    if (Py_EnterRecursiveCall(" in a call of gatherscatter") != 0) throw py::error_already_set();
  }
  RecursionScope(const RecursionScope&) = delete;
  RecursionScope& operator=(const RecursionScope&) = delete;
  ~RecursionScope() { Py_LeaveRecursiveCall(); }
};

// Runs body, which runs or plans the request of a call. A TypeError or a ValueError goes to the handler of the call, if
// it has one, and `finish` completes what the handler returns.
template <class Body, class Finish>
py::object handled(const BoundCall& call, Body body, Finish finish) {
  PyObject* const result = guarded(call.request.name(), [&]() -> py::object {
    try {
      return body();
    } catch (const AxisError& error) {
      raise_axis_error(call, error);
    }
  });
  if (result != nullptr) return py::reinterpret_steal<py::object>(result);
  py::error_already_set error;
  if (!call.handler || !(error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError))) throw error;
  // A handler that raised the error again would keep the arguments alive: its frame would be in the error's traceback.
  const py::tuple arguments = py::make_tuple(error.value()) + py::reinterpret_borrow<py::tuple>(call.handler_arguments);
  const py::object replacement =
      python::answer([&] { return PyObject_CallObject(call.handler.ptr(), arguments.ptr()); });
  if (replacement.is(error.value())) throw error;
  return finish(replacement);
}

// The result of a call; any other object is returned as it is.
py::object finished(const py::object& object) {
  const BoundCall* const call = call_in(object.ptr());
  if (call == nullptr) return object;
  PyObject* const result = run_call(*call);
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

py::object run_all(const BoundCall& call) {
  if (call.steps) return python::call(call.steps);
  return handled(
      call,
      [&] {
        py::object result = run_request(call);
        return call.then ? python::call(call.then, result) : result;
      },
      finished);
}

bool has_geometry(const ArrayView& view, const PlainArray& array) {
  if (view.item != array.item || view.rank() != array.rank) return false;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (view.extent[axis] != array.extent[axis] || view.stride[axis] != array.stride[axis]) return false;
  }
  return true;
}

PyObject* run_method(PyObject* self, PyObject*) {
  return run_call(self_of(self));
}

PyObject* plan_method(PyObject* self, PyObject*) {
  return guarded("plan", [&] { return plan_call(self_of(self)); });
}

PyObject* parts_method(PyObject* self, PyObject*) {
  return guarded("parts", [&]() -> py::object { return parts_of(self_of(self)); });
}

// Only functions: a chain of calls would be freed by recursion.
bool check_function(PyObject* object) {
  if (PyCallable_Check(object) && call_in(object) == nullptr) return true;
  PyErr_Format(PyExc_TypeError, "expected a function, got %R", Py_TYPE(object));
  return false;
}

PyObject* then_method(PyObject* self, PyObject* function) {
  if (!check_function(function)) return nullptr;
  self_of(self).then = py::reinterpret_borrow<py::object>(function);
  return Py_NewRef(self);
}

PyObject* run_by_method(PyObject* self, PyObject* function) {
  if (!check_function(function)) return nullptr;
  self_of(self).steps = py::reinterpret_borrow<py::object>(function);
  return Py_NewRef(self);
}

// otherwise(handler, *arguments)
PyObject* otherwise_method(PyObject* self, PyObject* arguments) {
  if (PyTuple_GET_SIZE(arguments) == 0) {
    PyErr_SetString(PyExc_TypeError, "otherwise: the handler is missing");
    return nullptr;
  }
  if (!check_function(PyTuple_GET_ITEM(arguments, 0))) return nullptr;
  self_of(self).handler = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(arguments, 0));
  self_of(self).handler_arguments =
      py::reinterpret_steal<py::object>(PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments)));
  return Py_NewRef(self);
}

PyMethodDef methods[] = {
    {"run", run_method, METH_NOARGS, "Runs the call and returns its result."},
    {"plan", plan_method, METH_NOARGS, "Makes the plan of the call. Reads no index value."},
    {"parts", parts_method, METH_NOARGS,
     "What the call consists of: the fields of gatherscatter._moves.request.Request."},
    {"then", then_method, METH_O, "Sets the function that is called with the result of the run; returns the call."},
    {"run_by", run_by_method, METH_O,
     "Sets the function that runs the call in more than one move; the plan stays that of the call. Returns the call."},
    {"otherwise", otherwise_method, METH_VARARGS,
     "Sets handler(error, *arguments) for a TypeError or ValueError: it returns the error, or what replaces it, or "
     "raises. Returns the call."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_call)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A call of an operator that has not run yet.")},
    {0, nullptr},
};

PyType_Spec spec = {"gatherscatter._core.Call", sizeof(CallObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

RawOperands BoundCall::operands() const {
  const auto handle = [](const py::object& object) { return object ? py::handle(object) : py::handle(Py_None); };
  return {input, indices, handle(fill), handle(mask), handle(out), handle(source)};
}

py::object new_call() {
  auto* const object = PyObject_New(CallObject, call_type);
  if (object == nullptr) throw py::error_already_set();
  new (&object->call) BoundCall();
  object->call.holder = reinterpret_cast<PyObject*>(object);
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
}

BoundCall* call_in(PyObject* object) {
  return Py_TYPE(object) == call_type ? &self_of(object) : nullptr;
}

PyObject* run_call(const BoundCall& call) noexcept {
  return guarded(call.request.name(), [&] {
    const RecursionScope scope;
    return run_all(call);
  });
}

PyObject* run_returned(PyObject* returned) noexcept {
  const BoundCall* const call = returned == nullptr ? nullptr : call_in(returned);
  if (call == nullptr) return returned;
  PyObject* result = run_call(*call);
  Py_DECREF(returned);
  return result;
}

py::object plan_call(const BoundCall& call) {
  const RecursionScope scope;
  if (call.reason) throw py::type_error(call.reason.cast<std::string>());
  return handled(
      call,
      [&] {
        OperatorRequest request = call.request;
        Operands operands;
        if (needs_gradient(call.operands().fill.ptr())) {
          throw std::runtime_error("the fill value requires grad, but a plan keeps only its value; pass its .detach()");
        }
        const dlpack::WithoutGradients guard;  // a plan is a geometry, which has none
        adopt_all(request, call.operands(), operands);
        set_number(request, operands);
        return make_plan_object(request, plan_for(request, operands), operands);
      },
      [&](const py::object& replacement) {
        if (const BoundCall* const other = call_in(replacement.ptr())) return plan_call(*other);
        throw py::type_error(std::string(call.request.name()) + " has no plan for these arguments: " + kMovesNothing);
      });
}

PyObject* run_plain(const OperatorRequest& request, const LaneCall& call, const PlannedGather* planned) {
  const auto or_none = [](PyObject* object) { return object != nullptr ? py::handle(object) : py::handle(Py_None); };
  Operands operands;
  adopt_all(request, {call.input, call.index, Py_None, Py_None, or_none(call.out), or_none(call.source)}, operands);
  const Dims& extent = operands.input.view.extent;
  if (extent.empty()) throw ShapeError("the input is a scalar");
  if (std::find(extent.begin(), extent.end(), 0) != extent.end()) throw ShapeError("the input is empty");
  if (request.direction == Direction::scatter) return execute_scatter(request, operands, nullptr).release().ptr();
  const bool is_planned = planned != nullptr && planned->plan && !operands.device_call &&
                          operands.indices[0].view.type == planned->index.type &&
                          has_geometry(operands.input.view, planned->input) &&
                          has_geometry(operands.indices[0].view, planned->index);
  return execute_gather(request, operands, is_planned ? planned->plan.get() : nullptr).release().ptr();
}

PyObject* run_bound(const OperatorRequest& request, const LaneCall& call) noexcept {
  return guarded(request.name(), [&] {
    const py::object made = new_call();
    BoundCall& bound = *call_in(made.ptr());
    bound.request = request;
    bound.input = py::reinterpret_borrow<py::object>(call.input);
    bound.indices = py::reinterpret_borrow<py::object>(call.index);
    bound.source = py::reinterpret_borrow<py::object>(call.source);
    bound.axis = request.axis ? py::object(py::int_(*request.axis)) : py::none();
    return run_request(bound);
  });
}

void bind_calls(py::module_& module) {
  call_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (call_type == nullptr) throw py::error_already_set();
  module.attr("Call") = py::handle(reinterpret_cast<PyObject*>(call_type));
  module.def("run", [](const py::object& object) { return finished(object); });
  module.def("steps", [](const py::str& op, const py::function& run, const py::str& reason) {
    py::object made = new_call();
    BoundCall& call = *call_in(made.ptr());
    call.request.op = op;
    call.steps = run;
    call.reason = reason;
    return made;
  });
}

}  // namespace gs
