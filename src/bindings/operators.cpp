// operators.cpp: see operators.h. Arguments are positional only; names, defaults and documentation are Python's part.
#include "bindings/operators.h"

#include <array>
#include <string>

#include "bindings/errors.h"
#include "bindings/run.h"
#include "core/error.h"

namespace gs {
namespace {

// One of a few words. Python interns them, so that usually the first comparison, of addresses, decides.
template <std::size_t N>
class Words {
 public:
  Words(const char* what, const std::array<const char*, N>& words) : what_(what), words_(words) {
    for (std::size_t i = 0; i < N; ++i) interned_[i] = PyUnicode_InternFromString(words[i]);
  }
  int find(PyObject* word) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (word == interned_[i]) return static_cast<int>(i);
    }
    if (PyUnicode_Check(word)) {
      for (std::size_t i = 0; i < N; ++i) {
        if (PyUnicode_Compare(word, interned_[i]) == 0) return static_cast<int>(i);
      }
    }
    std::string text = std::string(what_) + " is " + py::repr(word).cast<std::string>() + ", expected one of ";
    for (std::size_t i = 0; i < N; ++i) text += std::string(i > 0 ? ", '" : "'") + words_[i] + "'";
    throw ShapeError(text);
  }

 private:
  const char* what_;
  std::array<const char*, N> words_;
  std::array<PyObject*, N> interned_{};
};

Rule parse_rule(PyObject* bounds, PyObject* negative) {
  static const Words<6> bounds_words("bounds", {"raise", "deferred", "fill", "clip", "wrap", "unchecked"});
  static const Words<2> negative_words("negative", {"from_end", "out_of_bounds"});
  return {static_cast<Bounds>(bounds_words.find(bounds)), static_cast<Negative>(negative_words.find(negative))};
}

Match parse_match(PyObject* match) {
  static const Words<2> words("match", {"prefix", "broadcast"});
  return static_cast<Match>(words.find(match));
}

int64_t parse_int(PyObject* object, const char* what) {
  if (PyBool_Check(object) || !PyIndex_Check(object)) {
    throw DTypeError(std::string(what) + " is " + py::repr(object).cast<std::string>() + ", expected an integer");
  }
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);  // beyond 64 bits: the nearest that fits
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

std::optional<int64_t> parse_axis(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  return parse_int(object, "axis");
}

const char* name_of(PyObject* op) {
  const char* name = PyUnicode_Check(op) ? PyUnicode_AsUTF8(op) : nullptr;
  return name != nullptr ? name : "gatherscatter";
}

bool has_arguments(Py_ssize_t count, Py_ssize_t expected, const char* function) {
  if (count == expected) return true;
  PyErr_Format(PyExc_TypeError, "%s takes %zd arguments (%zd given)", function, expected, count);
  return false;
}

// take_axis(op, input, indices, axis, batch_dims, bounds, negative, fill, mask, out)
PyObject* take_axis_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  if (!has_arguments(count, 10, "take_axis")) return nullptr;
  return guarded(name_of(a[0]), [&] {
    Request request;
    request.op = py::reinterpret_borrow<py::object>(a[0]);
    request.planner = Planner::take_axis;
    request.axis = parse_axis(a[3]);
    request.batch_dims = parse_int(a[4], "batch_dims");
    request.rule = parse_rule(a[5], a[6]);
    return run(request, {a[1], a[2], a[7], a[8], a[9]});
  });
}

// along_axis(op, input, index, axis, match, bounds, negative, fill, mask, out)
PyObject* along_axis_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  if (!has_arguments(count, 10, "along_axis")) return nullptr;
  return guarded(name_of(a[0]), [&] {
    Request request;
    request.op = py::reinterpret_borrow<py::object>(a[0]);
    request.planner = Planner::along_axis;
    request.axis = parse_axis(a[3]);
    request.match = parse_match(a[4]);
    request.rule = parse_rule(a[5], a[6]);
    return run(request, {a[1], a[2], a[7], a[8], a[9]});
  });
}

// at_points(op, array, indices, bounds, negative, fill, mask, out)
PyObject* at_points_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  if (!has_arguments(count, 8, "at_points")) return nullptr;
  return guarded(name_of(a[0]), [&] {
    if (!PyTuple_Check(a[2])) throw DTypeError("indices must be a tuple of index arrays");
    Request request;
    request.op = py::reinterpret_borrow<py::object>(a[0]);
    request.planner = Planner::at_points;
    request.rule = parse_rule(a[3], a[4]);
    return run(request, {a[1], a[2], a[5], a[6], a[7]});
  });
}

template <class Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"take_axis", as_method(take_axis_call), METH_FASTCALL,
     "take_axis(op, input, indices, axis, batch_dims, bounds, negative, fill, mask, out, /)\n--\n\n"
     "Slices along one axis."},
    {"along_axis", as_method(along_axis_call), METH_FASTCALL,
     "along_axis(op, input, index, axis, match, bounds, negative, fill, mask, out, /)\n--\n\n"
     "Elementwise along one axis."},
    {"at_points", as_method(at_points_call), METH_FASTCALL,
     "at_points(op, array, indices, bounds, negative, fill, mask, out, /)\n--\n\n"
     "Points given by one index array for each axis."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_operators(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw py::error_already_set();
}

}  // namespace gs
