// lane.cpp: assigns the arguments of a call to its parts, and runs it on plain arrays.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <algorithm>
#include <utility>

#include "bindings/arguments/keywords.h"
#include "bindings/arguments/torch_part.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/lane.h"
#include "bindings/operators/literals.h"
#include "bindings/operators/torch_lane.h"
#include "core/reductions.h"

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

// The number of a keyword; that of no keyword for every other name.
std::size_t keyword_of(PyObject* name) {
  static const auto names = [] {
    std::array<PyObject*, kKeywordNames.size()> interned{};
    for (std::size_t i = 0; i < interned.size(); ++i) interned[i] = PyUnicode_InternFromString(kKeywordNames[i]);
    return interned;
  }();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

bool read_bool(PyObject* object, bool& value) {
  value = object == Py_True;
  return value || object == Py_False;
}

// Sets what a keyword gives: `axis`, a part of the call or a word of its key. Returns false for values that only the
// definition of the operator reads or refuses.
bool read_value(Keyword keyword, PyObject* value, PyObject*& axis, LaneCall& call) {
  CallKey& key = call.key;
  const auto set_part = [&](PyObject*& part) {
    if (value != Py_None) part = value;
    return true;
  };
  switch (keyword) {
    case Keyword::axis: return std::exchange(axis, value) == nullptr;
    case Keyword::out: return set_part(call.out);
    case Keyword::mask: return set_part(call.mask);
    case Keyword::fill_value: return set_part(call.fill);
    case Keyword::bounds: return read_bounds(value, key.direction, key.rule.bounds);
    case Keyword::negative: return read_negative(value, key.rule.negative);
    case Keyword::reduce: return read_reduce(value, key.combine.reduce);
    case Keyword::include_self: return read_bool(value, key.combine.include_self);
    case Keyword::duplicates: return read_duplicates(value, key.duplicates);
  }
  return false;
}

// Whether the words of a call agree with each other, and the kept one of duplicates is the last.
bool fit_together(const LaneCall& call) {
  const CallKey& key = call.key;
  const bool can_fill = call.mask != nullptr || key.rule.fills();
  return (call.fill == nullptr || can_fill) && key.duplicates == Duplicates::last &&
         (key.combine.include_self || key.combine.reduce != Reduce::set);
}

// Sets `axis` and what else is given as keywords. Returns false for every other keyword.
bool read_keywords(const LaneForm& form, const RawCall& raw, PyObject*& axis, LaneCall& call) {
  bool has_rule = false;   // all of it, by a word of NumPy
  bool has_words = false;  // for parts of it
  for (Py_ssize_t i = 0; i < raw.keyword_count(); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(raw.keywords, i);
    PyObject* const value = raw.arguments[raw.positional + i];
    const std::size_t number = keyword_of(name);
    const auto keyword = static_cast<Keyword>(number);
    if (number < kKeywordNames.size() && form.takes(keyword)) {
      if (!read_value(keyword, value, axis, call)) return false;
      has_words = has_words || keyword == Keyword::bounds || keyword == Keyword::negative;
    } else if (!has_rule && read_rule(form, name, value, call.key)) {
      has_rule = true;
    } else {
      return false;
    }
  }
  return !(has_rule && has_words) && fit_together(call);
}

// Whether only a small call runs as the definition of the operator would run it.
bool is_small_only(const LaneCall& call) {
  return call.mask != nullptr || call.key.rule.fills() || call.key.combine.reduce != Reduce::set;
}

// Whether the values of all arrays are plain. This may run Python code, which may change any array, so it comes before
// all reads.
bool have_plain_values(const LaneCall& call) {
  const bool has_array = call.source != nullptr && !is_number(call.source);
  return has_plain_values(call.input) && (!has_array || has_plain_values(call.source)) &&
         (call.out == nullptr || call.out == call.input || has_plain_values(call.out)) &&
         (call.mask == nullptr || has_plain_values(call.mask));
}

// Reads the mask of a call, if it has one.
bool read_mask(const LaneCall& call, PlainArray& mask) {
  return call.mask == nullptr || (read_plain(call.mask, Role::mask, mask) && mask.is_bool());
}

// The value that a gather fills with, as an item of its input.
class FillItem {
 public:
  FillItem() {}  // the item stays uninitialised
  // Returns false for every value that is no number of the dtype, and for a default that is no zero bytes.
  bool read(const LaneCall& call, const PlainArray& input) {
    if (call.fill == nullptr) return !(call.mask != nullptr || call.key.rule.fills()) || input.has_zero();
    return is_number(call.fill) && input.item <= kMostNumber && write_number_as(input, call.fill, item_);
  }
  const std::byte* item() const { return item_; }

 private:
  alignas(16) std::byte item_[kMostNumber];
};

// Runs a call that is not small, or that a small call has declined.
LaneResult run_in_general(const LaneCall& call, PyObject* op, const PlannedGather* planned) {
  return LaneResult::of(run_plain({call.key.request(), py::reinterpret_borrow<py::object>(op)}, call, planned));
}

[[gnu::hot]] LaneResult run_gather(const LaneCall& call, PyObject* op) {
  PlainArray input;
  PlainArray index;
  IndexList list;
  PlainArray out;
  PlainArray mask;
  FillItem fill;
  const bool has_out = call.out != nullptr;
  const bool is_list = PyList_CheckExact(call.index);
  const bool is_plain = have_plain_values(call) && read_plain(call.input, Role::data, input) && input.rank != 0 &&
                        (is_list ? list.read(call.index, index) : read_plain(call.index, Role::index, index)) &&
                        (!has_out || (read_plain(call.out, Role::out, out) && out.library == input.library)) &&
                        read_mask(call, mask) && fill.read(call, input);
  if (is_plain) {
    const PlainArray* const masked = call.mask != nullptr ? &mask : nullptr;
    const PlannedCall& planned = *PlannedCalls::of_thread().find_or_make(call.key, input, index, masked, nullptr);
    if (planned.small) {
      const SmallOperands operands{index, masked, call.fill != nullptr ? fill.item() : nullptr};
      const LaneResult result = planned.small.gather(input, operands, has_out ? &out : nullptr);
      if (!result.is_declined()) return result;
    }
    if (is_list || is_small_only(call)) return LaneResult::declined();
    const PlannedGather gather{planned.plan, input, index};
    return run_in_general(call, op, has_out ? nullptr : &gather);
  }
  const bool is_exact = is_exact_array(call.input) && is_exact_array(call.index);
  if (has_out || !is_exact || is_small_only(call)) return LaneResult::declined();
  if (torch_takes_part(call.input) || torch_takes_part(call.index)) return run_in_torch_lane(call);
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

// Whether the error that is set is one of this operator, and not of a hook of torch, which must not run twice.
bool is_error_of(PyObject* op) {
  PyObject* kind = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&kind, &value, &trace);
  bool is_ours = false;
  for (PyObject* const known : {PyExc_TypeError, PyExc_ValueError, PyExc_IndexError}) {
    is_ours = is_ours || PyErr_GivenExceptionMatches(kind, known) != 0;
  }
  if (is_ours && value != nullptr) {
    const auto text = py::reinterpret_steal<py::object>(PyObject_Str(value));
    is_ours = text && PyUnicode_Tailmatch(text.ptr(), op, 0, PY_SSIZE_T_MAX, -1) == 1;
    PyErr_Clear();
  }
  PyErr_Restore(kind, value, trace);
  return is_ours;
}

// Runs a sum of tensors of which torch has to know without the definition of the operator, unless that has an error to
// explain. Such sums are the smallest calls of models whose definition takes as long as their additions.
LaneResult run_for_torch(const LaneCall& call, PyObject* op) {
  const auto is_tensor = [](PyObject* object) { return dlpack::torch().is_tensor(object); };
  if (call.out != nullptr || call.mask != nullptr || call.key.combine.reduce != Reduce::add || !is_tensor(call.input) ||
      !is_tensor(call.index) || !is_tensor(call.source) ||
      !(torch_takes_part(call.input) || torch_takes_part(call.source))) {
    return LaneResult::declined();
  }
  PyObject* const result = run_bound({call.key.request(), py::reinterpret_borrow<py::object>(op)}, call);
  if (result != nullptr || !is_error_of(op)) return LaneResult::of(result);
  PyErr_Clear();
  return LaneResult::declined();
}

[[gnu::hot]] LaneResult run_scatter(const LaneCall& call, PyObject* op) {
  const bool is_on_other = call.out != nullptr && call.out != call.input;
  PlainArray target;
  PlainArray index;
  PlainArray out;
  PlainArray mask;
  IndexList list;
  PlainArray points;
  PlainArray source;
  RepeatedNumber number;
  const bool is_list = PyList_CheckExact(call.index);
  const bool is_plain =
      have_plain_values(call) && read_plain(call.input, Role::data, target) && target.rank != 0 &&
      target.is_contiguous() && (is_list ? list.read(call.index, index) : read_plain(call.index, Role::index, index)) &&
      set_points(call.key, target, index, points) && read_source(call.source, target, points, number, source) &&
      read_mask(call, mask) && (!is_on_other || read_plain(call.out, Role::out, out));
  CallKey key = call.key;
  const bool reduces = key.combine.reduce != Reduce::set;
  if (is_plain && reduces) key.combine.number = target.number();
  const bool is_small = is_plain && (!reduces || has_reduction(key.combine));
  const bool is_general = !is_on_other && !is_small_only(call);
  if (is_small) {
    const PlainArray* const masked = call.mask != nullptr ? &mask : nullptr;
    const PlannedCall* const planned = PlannedCalls::of_thread().find_or_make(key, target, index, masked, &source);
    if (planned != nullptr && planned->small.has_shape(source)) {
      if (planned->small) {
        const PlainArray* const to = is_on_other ? &out : call.out != nullptr ? &target : nullptr;
        const LaneResult result = planned->small.scatter(target, {index, masked}, source, to);
        if (!result.is_declined()) return result;
      }
      if (is_list || is_number(call.source) || !is_general) return LaneResult::declined();
      return run_in_general(call, op, nullptr);
    }
  }
  if (is_general && needs_no_conversion(call)) return run_in_general(call, op, nullptr);
  const LaneResult result = run_in_torch_lane(call);
  return result.is_declined() ? run_for_torch(call, op) : result;
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
  call.key.has_fill = call.fill != nullptr;
  return true;
}

[[gnu::hot]] LaneResult run_in_lane(const LaneCall& call, PyObject* op) {
  return call.source != nullptr ? run_scatter(call, op) : run_gather(call, op);
}

}  // namespace gs
