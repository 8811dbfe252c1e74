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

}  // namespace

bool read_call(const LaneForm& form, const RawCall& raw, LaneCall& call) {
  static PyObject* const axis_name = PyUnicode_InternFromString("axis");
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  if (raw.positional < form.required || raw.positional > static_cast<Py_ssize_t>(form.positional.size())) return false;
  PyObject* parts[LaneForm::kParts] = {};
  for (Py_ssize_t i = 0; i < raw.positional; ++i)
    parts[form.positional[static_cast<std::size_t>(i)]] = raw.arguments[i];
  for (Py_ssize_t i = 0; i < raw.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(raw.keywords, i);
    PyObject* given = raw.arguments[raw.positional + i];
    if (name == out_name && form.takes_out_keyword) {
      if (given != Py_None) parts[LaneForm::out] = given;
    } else if (name == axis_name && form.takes_axis_keyword && parts[LaneForm::axis] == nullptr) {
      parts[LaneForm::axis] = given;
    } else {
      return false;
    }
  }
  call.form = form.form;
  if (parts[LaneForm::axis] != nullptr) {
    if (!read_axis(form, parts[LaneForm::axis], call.form)) return false;
  } else if (form.needs_axis) {
    return false;
  }
  call.input = form.is_in_place ? parts[LaneForm::out] : parts[LaneForm::input];
  call.index = parts[LaneForm::index];
  call.source = parts[LaneForm::source];
  call.out = parts[LaneForm::out];
  return true;
}

LaneResult run_cached(const LaneCall& call, PyObject* op) {
  const bool scatters = call.source != nullptr;
  const bool has_other_out = call.out != nullptr && call.out != call.input;
  if (scatters && has_other_out) return LaneResult::declined();
  PlainArray input;
  PlainArray index;
  PlainArray source;
  PlainArray out;
  // The checks of values may run Python code, which may change any array, so they come before all reads.
  const bool is_plain =
      has_plain_values(call.input) && (!scatters || has_plain_values(call.source)) &&
      (!has_other_out || has_plain_values(call.out)) && (call.out == nullptr || read_plain(call.out, Role::out, out)) &&
      read_plain(call.input, Role::data, input) && input.rank != 0 && read_plain(call.index, Role::index, index);
  const bool is_fresh_gather = !scatters && call.out == nullptr;
  if (!is_plain) {
    if (!is_fresh_gather || !is_plain_array(call.input) || !is_plain_array(call.index)) return LaneResult::declined();
    return LaneResult::of(run_plain(request_of(call, op), call.input, call.index, nullptr).release().ptr());
  }
  if (scatters && !(input.is_contiguous() && read_plain(call.source, Role::source, source) && source.is_contiguous() &&
                    source.same_type(input))) {
    return LaneResult::declined();
  }
  const PlannedCall& planned = PlannedCalls::of_thread().find(call.form, input, index, scatters ? &source : nullptr);
  if (planned.small) {
    const LaneResult result = scatters ? planned.small.scatter(input, index, source, call.out != nullptr)
                                       : planned.small.gather(input, index, call.out == nullptr ? nullptr : &out);
    if (!result.is_declined()) return result;
  }
  if (!is_fresh_gather) return LaneResult::declined();
  const PlannedGather gather{planned.plan, input, index};
  return LaneResult::of(run_plain(request_of(call, op), call.input, call.index, &gather).release().ptr());
}

}  // namespace gs
