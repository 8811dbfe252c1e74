// lane.cpp: assigns the arguments of a call to its parts, and runs it on plain arrays.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <algorithm>

#include "bindings/operators/call_object.h"
#include "bindings/operators/lane.h"

namespace gs {
namespace {

bool is_plain_array(PyObject* object) {
  return PyArray_CheckExact(object) || dlpack::torch().is_tensor(object);
}

// Sets the axis of a call. Returns false for an object that only the definition of the operator converts.
bool read_axis(const LaneForm& form, PyObject* given, CallForm& read) {
  if (given == Py_None) {
    read.has_axis = false;
    return form.takes_no_axis;
  }
  if (!PyLong_CheckExact(given)) return false;
  int overflow = 0;
  read.axis = PyLong_AsLongLongAndOverflow(given, &overflow);
  read.has_axis = true;
  return overflow == 0;
}

OperatorRequest request_of(const LaneCall& call, PyObject* op) {
  return {call.form.request(), py::reinterpret_borrow<py::object>(op)};
}

// Whether the values of all arrays are plain. This may run Python code, which may change any array, so it comes before
// all reads.
bool have_plain_values(const LaneCall& call) {
  return has_plain_values(call.input) && (call.source == nullptr || has_plain_values(call.source)) &&
         (call.out == nullptr || call.out == call.input || has_plain_values(call.out));
}

LaneResult run_into(const SmallCall& small, const LaneCall& call, const PlainArray& input, const PlainArray& index) {
  PlainArray out;
  return read_plain(call.out, Role::out, out) ? small.gather(input, index, &out) : LaneResult::declined();
}

LaneResult run_gather(const LaneCall& call, PyObject* op) {
  PlainArray input;
  PlainArray index;
  const bool is_plain = have_plain_values(call) && read_plain(call.input, Role::data, input) && input.rank != 0 &&
                        read_plain(call.index, Role::index, index);
  if (is_plain) {
    const PlannedCall& planned = PlannedCalls::of_thread().find(call.form, input, index, nullptr);
    if (planned.small) {
      const LaneResult result = call.out == nullptr ? planned.small.gather(input, index, nullptr)
                                                    : run_into(planned.small, call, input, index);
      if (!result.is_declined()) return result;
    }
    if (call.out == nullptr) {
      const PlannedGather gather{planned.plan, input, index};
      return LaneResult::of(run_plain(request_of(call, op), call.input, call.index, &gather).release().ptr());
    }
  }
  if (call.out != nullptr || !is_plain_array(call.input) || !is_plain_array(call.index)) return LaneResult::declined();
  return LaneResult::of(run_plain(request_of(call, op), call.input, call.index, nullptr).release().ptr());
}

// The rank of the source of a scatter that writes every item of it once.
int rank_of_points(const CallForm& form, const PlainArray& target, const PlainArray& index) {
  const bool moves_slices = form.planner == Planner::take_axis && form.has_axis;
  return moves_slices ? target.rank - 1 + index.rank : index.rank;
}

LaneResult run_scatter(const LaneCall& call) {
  if (call.out != nullptr && call.out != call.input) return LaneResult::declined();
  PlainArray target;
  PlainArray index;
  PlainArray source;
  const bool is_plain = have_plain_values(call) && read_plain(call.input, Role::data, target) && target.rank != 0 &&
                        target.is_contiguous() && read_plain(call.index, Role::index, index) &&
                        read_plain(call.source, Role::source, source) && source.is_contiguous() &&
                        source.same_type(target);
  if (!is_plain || source.rank != rank_of_points(call.form, target, index)) return LaneResult::declined();
  const PlannedCall& planned = PlannedCalls::of_thread().find(call.form, target, index, &source);
  if (!planned.small || !planned.small.has_shape(source)) return LaneResult::declined();
  return planned.small.scatter(target, index, source, call.out != nullptr);
}

}  // namespace

bool read_call(const LaneForm& form, const RawCall& raw, LaneCall& call) {
  static PyObject* const axis_name = PyUnicode_InternFromString("axis");
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  if (raw.positional < form.required || raw.positional > form.count) return false;
  const auto given = [&](LaneForm::Part part) -> PyObject* {
    const int at = form.at[part];
    return at >= 0 && at < raw.positional ? raw.arguments[at] : nullptr;
  };
  PyObject* axis = given(LaneForm::axis);
  call.out = given(LaneForm::out);
  for (Py_ssize_t i = 0; i < raw.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(raw.keywords, i);
    PyObject* value = raw.arguments[raw.positional + i];
    if (name == out_name && form.takes_out_keyword) {
      if (value != Py_None) call.out = value;
    } else if (name == axis_name && form.takes_axis_keyword && axis == nullptr) {
      axis = value;
    } else {
      return false;
    }
  }
  call.form = form.form;
  if (axis != nullptr) {
    if (!read_axis(form, axis, call.form)) return false;
  } else if (form.needs_axis) {
    return false;
  }
  call.input = form.is_in_place ? call.out : given(LaneForm::input);
  call.index = given(LaneForm::index);
  call.source = given(LaneForm::source);
  return true;
}

LaneResult run_cached(const LaneCall& call, PyObject* op) {
  return call.source != nullptr ? run_scatter(call) : run_gather(call, op);
}

}  // namespace gs
