// lane.cpp: assigns the arguments of a call to its parts, and runs it on plain arrays.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <algorithm>

#include "bindings/arguments/torch_part.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/lane.h"
#include "bindings/operators/literals.h"
#include "bindings/operators/torch_lane.h"

namespace gs {
namespace {

bool is_exact_array(PyObject* object) {
  return PyArray_CheckExact(object) || dlpack::torch().is_tensor(object);
}

// Sets the axis of a call. Returns false for an object that only the definition of the operator converts.
bool read_axis(const LaneForm& form, PyObject* given, CallKey& read) {
  if (given == Py_None) {
    read.axis = CallKey::kNoAxis;
    return form.takes_no_axis;
  }
  if (!PyLong_CheckExact(given)) return false;
  int overflow = 0;
  read.axis = PyLong_AsLongLongAndOverflow(given, &overflow);
  return overflow == 0 && read.axis != CallKey::kNoAxis;
}

// Sets the rule of a call. Returns false for every keyword and value that is not a rule word of the form.
bool read_rule(const LaneForm& form, PyObject* name, PyObject* value, CallKey& read) {
  for (const RuleWord& word : form.rule_words) {
    if (word.keyword != name || word.value != value) continue;
    read.rule = word.rule;
    return true;
  }
  return false;
}

// Sets `axis` and the parts of a call that are given as keywords. Returns false for every other keyword.
bool read_keywords(const LaneForm& form, const RawCall& raw, PyObject*& axis, LaneCall& call) {
  static PyObject* const axis_name = PyUnicode_InternFromString("axis");
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  bool has_rule = false;
  for (Py_ssize_t i = 0; i < raw.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(raw.keywords, i);
    PyObject* value = raw.arguments[raw.positional + i];
    if (name == out_name && form.takes_out_keyword) {
      if (value != Py_None) call.out = value;
    } else if (name == axis_name && form.takes_axis_keyword && axis == nullptr) {
      axis = value;
    } else if (!has_rule && read_rule(form, name, value, call.key)) {
      has_rule = true;
    } else {
      return false;
    }
  }
  return true;
}

// Whether the values of all arrays are plain. This may run Python code, which may change any array, so it comes before
// all reads.
bool have_plain_values(const LaneCall& call) {
  const bool has_array = call.source != nullptr && !is_number(call.source);
  return has_plain_values(call.input) && (!has_array || has_plain_values(call.source)) &&
         (call.out == nullptr || call.out == call.input || has_plain_values(call.out));
}

// Runs a call that is not small, or that a small call has declined.
LaneResult run_in_general(const LaneCall& call, PyObject* op, const PlannedGather* planned) {
  return LaneResult::of(run_plain({call.key.request(), py::reinterpret_borrow<py::object>(op)}, call, planned));
}

[[gnu::hot]] LaneResult run_gather(const LaneCall& call, PyObject* op) {
  PlainArray input;
  PlainArray index;
  IndexList list;
  PlainArray out;
  const bool has_out = call.out != nullptr;
  const bool is_list = PyList_CheckExact(call.index);
  const bool is_plain = have_plain_values(call) && read_plain(call.input, Role::data, input) && input.rank != 0 &&
                        (is_list ? list.read(call.index, index) : read_plain(call.index, Role::index, index)) &&
                        (!has_out || (read_plain(call.out, Role::out, out) && out.library == input.library));
  if (is_plain) {
    const PlannedCall& planned = *PlannedCalls::of_thread().find_or_make(call.key, input, index, nullptr);
    if (planned.small) {
      const LaneResult result = planned.small.gather(input, index, has_out ? &out : nullptr);
      if (!result.is_declined()) return result;
    }
    if (is_list) return LaneResult::declined();
    const PlannedGather gather{planned.plan, input, index};
    return run_in_general(call, op, has_out ? nullptr : &gather);
  }
  const bool is_exact = is_exact_array(call.input) && is_exact_array(call.index);
  if (has_out || !is_exact) return LaneResult::declined();
  if (torch_takes_part(call.input) || torch_takes_part(call.index)) return gather_in_torch_lane(call);
  return run_in_general(call, op, nullptr);
}

// Sets rank and extents of the points of a scatter, which its source has too unless it is broadcast. Returns false for
// more axes than a plain array has; the planner refuses what does not fit together.
bool set_points(const CallKey& key, const PlainArray& target, const PlainArray& index, PlainArray& points) {
  const auto append = [&](const PlainArray& array, int64_t begin, int64_t end) {
    for (int64_t axis = begin; axis < end && points.rank < PlainArray::kMaxRank; ++axis) {
      points.extent[points.rank++] = array.extent[axis];
    }
  };
  int64_t indexed = 0;    // axes of the target that the index replaces,
  int64_t before = 0;     // those before them,
  int rank = index.rank;  // and axes of the index
  if (key.planner == Planner::at_points) {
    if (--rank < 0) return false;
    indexed = index.extent[rank];
  } else if (key.planner == Planner::take_axis && key.axis != CallKey::kNoAxis) {
    indexed = 1;
    before = key.axis < 0 ? key.axis + target.rank : key.axis;
  } else {
    indexed = target.rank;  // a point for each element of the index
  }
  if (before < 0 || indexed > target.rank - before) return false;
  append(target, 0, before);
  append(index, 0, rank);
  append(target, before + indexed, target.rank);
  return points.rank == target.rank - indexed + rank;
}

// Whether a scatter of ndarrays does what its operator says without a conversion: source and target have one dtype, and
// the source of a put, which is repeated else, has the shape of the index.
bool needs_no_conversion(const LaneCall& call) {
  if (!PyArray_CheckExact(call.input) || !PyArray_CheckExact(call.index) || !PyArray_CheckExact(call.source))
    return false;
  auto* const target = reinterpret_cast<PyArrayObject*>(call.input);
  auto* const index = reinterpret_cast<PyArrayObject*>(call.index);
  auto* const source = reinterpret_cast<PyArrayObject*>(call.source);
  const bool is_put = call.key.planner == Planner::take_axis && call.key.axis == CallKey::kNoAxis;
  return PyArray_DESCR(target) == PyArray_DESCR(source) && (!is_put || PyArray_SAMESHAPE(index, source));
}

// Reads an array as the source of a scatter with these points, or repeats a number for all of them.
bool read_source(PyObject* object, const PlainArray& target, const PlainArray& points, RepeatedNumber& number,
                 PlainArray& source) {
  if (is_number(object)) {
    source = points;
    return number.read(object, target, source);
  }
  return read_plain(object, Role::source, source) && source.is_contiguous() && source.same_type(target) &&
         source.rank == points.rank;
}

[[gnu::hot]] LaneResult run_scatter(const LaneCall& call, PyObject* op) {
  if (call.out != nullptr && call.out != call.input) return LaneResult::declined();
  PlainArray target;
  PlainArray index;
  IndexList list;
  PlainArray points;
  PlainArray source;
  RepeatedNumber number;
  const bool is_list = PyList_CheckExact(call.index);
  const bool is_plain =
      have_plain_values(call) && read_plain(call.input, Role::data, target) && target.rank != 0 &&
      target.is_contiguous() && (is_list ? list.read(call.index, index) : read_plain(call.index, Role::index, index)) &&
      set_points(call.key, target, index, points) && read_source(call.source, target, points, number, source);
  if (is_plain) {
    const PlannedCall* const planned = PlannedCalls::of_thread().find_or_make(call.key, target, index, &source);
    if (planned != nullptr && planned->small.has_shape(source)) {
      if (planned->small) {
        const LaneResult result = planned->small.scatter(target, index, source, call.out != nullptr);
        if (!result.is_declined()) return result;
      }
      if (is_list || is_number(call.source)) return LaneResult::declined();
      return run_in_general(call, op, nullptr);
    }
  }
  return needs_no_conversion(call) ? run_in_general(call, op, nullptr) : scatter_in_torch_lane(call);
}

}  // namespace

[[gnu::hot]] bool read_call(const LaneForm& form, const RawCall& raw, LaneCall& call) {
  if (raw.positional < form.required || raw.positional > form.count) return false;
  const auto given = [&](LaneForm::Part part) -> PyObject* {
    const int at = form.at[part];
    return at >= 0 && at < raw.positional ? raw.arguments[at] : nullptr;
  };
  PyObject* axis = given(LaneForm::axis);
  call.key = form.key;
  call.out = given(LaneForm::out);
  if (raw.keywords != nullptr && !read_keywords(form, raw, axis, call)) return false;
  if (axis != nullptr) {
    if (!read_axis(form, axis, call.key)) return false;
  } else if (form.needs_axis) {
    return false;
  }
  call.input = form.is_in_place ? call.out : given(LaneForm::input);
  call.index = given(LaneForm::index);
  call.source = given(LaneForm::source);
  return true;
}

[[gnu::hot]] LaneResult run_in_lane(const LaneCall& call, PyObject* op) {
  return call.source != nullptr ? run_scatter(call, op) : run_gather(call, op);
}

}  // namespace gs
