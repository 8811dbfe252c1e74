// operators.cpp: parses the arguments of the planner functions and makes calls of them. Arguments are positional only;
// names, defaults and documentation are in the Python modules.
#include "bindings/operators/operators.h"

#include <string>

#include "bindings/arguments/keywords.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/literals.h"
#include "bindings/operators/methods.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "core/error.h"

namespace gs {
namespace {

// Whether an object is an array with an axis. A tensor of one element is an index of Python, whatever its rank.
bool has_axes(PyObject* object) {
  if (PyLong_Check(object)) return false;
  const py::object rank = python::attribute_or_none(object, "ndim");
  return PyLong_Check(rank.ptr()) && PyObject_IsTrue(rank.ptr()) == 1;
}

// An integer beyond 64 bits becomes the nearest integer of 64 bits: as an axis or a number of axes, both are out of
// range.
int64_t parse_int(PyObject* object, const char* what) {
  const bool is_number = !PyBool_Check(object) && !has_axes(object);
  const auto number =
      py::reinterpret_steal<py::object>(is_number ? call_python([&] { return PyNumber_Index(object); }) : nullptr);
  if (!number) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
    throw DTypeError(std::string(what) + " is " + shown(object) + ", expected an integer");
  }
  return PyNumber_AsSsize_t(number.ptr(), nullptr);
}

int64_t parse_count(PyObject* object, const char* what) {
  const int64_t value = parse_int(object, what);
  if (value == INT64_MAX || value == INT64_MIN) {
    throw ShapeError(std::string(what) + " " + shown(object) + " is out of range: no array has as many axes");
  }
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

py::object own(PyObject* object) {
  return py::reinterpret_borrow<py::object>(object);
}

// The common start of all functions: checks the number of arguments, of which the first names the operator. `body`
// fills in the call.
template <class Body>
PyObject* call(const char* function, PyObject* const* a, Py_ssize_t count, Py_ssize_t expected, Body body) {
  if (count != expected) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments (%zd given)", function, expected, count);
    return nullptr;
  }
  return guarded(name_of(a[0]), [&] {
    if (!PyUnicode_Check(a[0])) throw DTypeError("op is " + shown(a[0]) + ", expected the name of an operator");
    py::object made = new_call();
    BoundCall& bound = *call_in(made.ptr());
    bound.request.op = own(a[0]);
    bound.input = own(a[1]);
    bound.indices = own(a[2]);
    body(bound);
    return made;
  });
}

void set_axis(BoundCall& bound, PyObject* axis) {
  bound.request.axis = parse_axis(axis);
  bound.axis = own(axis);
}

void set_points(OperatorRequest& request, PyObject* indices, PyObject* batch_dims) {
  request.planner = Planner::at_points;
  request.coordinates = !PyTuple_Check(indices);
  request.batch_dims = parse_count(batch_dims, "batch_dims");
}

// Planner and match are set before.
void set_scatter(OperatorRequest& request, PyObject* bounds, PyObject* negative, PyObject* reduce,
                 PyObject* include_self, PyObject* duplicates) {
  request.set_scatter();
  request.rule = parse_rule(bounds, negative, Direction::scatter);
  const ScatterKeywords words = parse_scatter_keywords(reduce, parse_bool(include_self, "include_self"), duplicates);
  request.combine = words.combine;
  request.duplicates = words.duplicates;
}

void set_extras(BoundCall& bound, PyObject* fill, PyObject* mask, PyObject* out) {
  if (fill != nullptr) bound.fill = own(fill);
  bound.mask = own(mask);
  bound.out = own(out);
}

// take_axis(op, input, indices, axis, batch_dims, bounds, negative, fill, mask, out)
PyObject* take_axis_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("take_axis", a, count, 10, [&](BoundCall& bound) {
    set_axis(bound, a[3]);
    bound.request.batch_dims = parse_count(a[4], "batch_dims");
    bound.request.rule = parse_rule(a[5], a[6], Direction::gather);
    set_extras(bound, a[7], a[8], a[9]);
  });
}

// along_axis(op, input, index, axis, match, bounds, negative, fill, mask, out)
PyObject* along_axis_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("along_axis", a, count, 10, [&](BoundCall& bound) {
    bound.request.planner = Planner::along_axis;
    set_axis(bound, a[3]);
    bound.request.match = parse_match(a[4]);
    bound.request.rule = parse_rule(a[5], a[6], Direction::gather);
    set_extras(bound, a[7], a[8], a[9]);
  });
}

// gather_tiled(op, input, index, axis, tile)
PyObject* gather_tiled_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("gather_tiled", a, count, 5, [&](BoundCall& bound) {
    if (!PyTuple_Check(a[4])) throw DTypeError("tile must be a tuple of integers");
    bound.request.planner = Planner::along_axis;
    bound.request.axis = parse_int(a[3], "axis");
    bound.axis = own(a[3]);
    bound.request.rule = {Bounds::raise, Negative::out_of_bounds};
    for (const py::handle extent : py::reinterpret_borrow<py::tuple>(a[4])) {
      bound.request.tile.push_back(parse_int(extent.ptr(), "tile"));
    }
  });
}

// at_points(op, array, indices, batch_dims, bounds, negative, fill, mask, out)
PyObject* at_points_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("at_points", a, count, 9, [&](BoundCall& bound) {
    set_points(bound.request, a[2], a[3]);
    bound.request.rule = parse_rule(a[4], a[5], Direction::gather);
    set_extras(bound, a[6], a[7], a[8]);
  });
}

// scatter_axis(op, input, indices, axis, batch_dims, src, bounds, negative, reduce, include_self, duplicates, mask,
// out)
PyObject* scatter_axis_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("scatter_axis", a, count, 13, [&](BoundCall& bound) {
    set_axis(bound, a[3]);
    bound.request.batch_dims = parse_count(a[4], "batch_dims");
    bound.source = own(a[5]);
    set_scatter(bound.request, a[6], a[7], a[8], a[9], a[10]);
    set_extras(bound, nullptr, a[11], a[12]);
  });
}

// scatter_along(op, input, index, axis, match, src, bounds, negative, reduce, include_self, duplicates, mask, out)
PyObject* scatter_along_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("scatter_along", a, count, 13, [&](BoundCall& bound) {
    bound.request.planner = Planner::along_axis;
    set_axis(bound, a[3]);
    bound.request.match = parse_match(a[4]);
    bound.source = own(a[5]);
    set_scatter(bound.request, a[6], a[7], a[8], a[9], a[10]);
    set_extras(bound, nullptr, a[11], a[12]);
  });
}

// scatter_points(op, array, indices, batch_dims, src, bounds, negative, reduce, include_self, duplicates, mask, out)
PyObject* scatter_points_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("scatter_points", a, count, 12, [&](BoundCall& bound) {
    set_points(bound.request, a[2], a[3]);
    bound.source = own(a[4]);
    set_scatter(bound.request, a[5], a[6], a[7], a[8], a[9]);
    set_extras(bound, nullptr, a[10], a[11]);
  });
}

// scatter_masked(op, input, mask, src, out)
PyObject* scatter_masked_call(PyObject*, PyObject* const* a, Py_ssize_t count) {
  return call("scatter_masked", a, count, 5, [&](BoundCall& bound) {
    bound.request.planner = Planner::elementwise;
    bound.request.set_scatter();
    bound.indices = {};
    bound.source = own(a[3]);
    set_extras(bound, nullptr, a[2], a[4]);
  });
}

// item_of(like, number)
PyObject* item_of(PyObject*, PyObject* const* a, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "item_of takes 2 arguments (%zd given)", count);
  PyObject* const item = item_array(a[0], a[1]);
  return item != nullptr || PyErr_Occurred() ? item : Py_NewRef(Py_None);
}

PyMethodDef methods[] = {
    {"take_axis", as_method(take_axis_call), METH_FASTCALL,
     "take_axis(op, input, indices, axis, batch_dims, bounds, negative, fill, mask, out, /)\n--\n\n"
     "A gather of slices along one axis."},
    {"along_axis", as_method(along_axis_call), METH_FASTCALL,
     "along_axis(op, input, index, axis, match, bounds, negative, fill, mask, out, /)\n--\n\n"
     "An elementwise gather along one axis."},
    {"at_points", as_method(at_points_call), METH_FASTCALL,
     "at_points(op, array, indices, batch_dims, bounds, negative, fill, mask, out, /)\n--\n\n"
     "A gather of points given by one index array for each axis, or by an array of coordinates."},
    {"gather_tiled", as_method(gather_tiled_call), METH_FASTCALL,
     "gather_tiled(op, input, index, axis, tile, /)\n--\n\n"
     "An elementwise gather along one axis, tile by tile."},
    {"scatter_axis", as_method(scatter_axis_call), METH_FASTCALL,
     "scatter_axis(op, input, indices, axis, batch_dims, src, bounds, negative, reduce, include_self, duplicates, "
     "mask, out, /)\n--\n\nA scatter of slices along one axis."},
    {"scatter_along", as_method(scatter_along_call), METH_FASTCALL,
     "scatter_along(op, input, index, axis, match, src, bounds, negative, reduce, include_self, duplicates, mask, "
     "out, /)\n--\n\nAn elementwise scatter along one axis."},
    {"scatter_points", as_method(scatter_points_call), METH_FASTCALL,
     "scatter_points(op, array, indices, batch_dims, src, bounds, negative, reduce, include_self, duplicates, mask, "
     "out, /)\n--\n\nA scatter to points."},
    {"scatter_masked", as_method(scatter_masked_call), METH_FASTCALL,
     "scatter_masked(op, input, mask, src, out, /)\n--\n\nAn elementwise scatter under a mask."},
    {"item_of", as_method(item_of), METH_FASTCALL,
     "item_of(like, number, /)\n--\n\n"
     "An array of rank 0 that holds a number as an item of an array of NumPy; None if that takes more than a copy."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void bind_operators(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw py::error_already_set();
}

}  // namespace gs
