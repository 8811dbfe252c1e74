// dask_dispatch.cpp: finds Dask arrays among the arguments of a call, by the name of their type, without importing
// Dask.
#include "bindings/operators/dask_dispatch.h"

#include <cstring>
#include <string_view>

namespace py = pybind11;

namespace gs {
namespace {

// The name is compared first, which costs a few nanoseconds for arguments of any other type.
bool is_dask_array(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (std::strcmp(type->tp_name, "Array") != 0) return false;
  const auto module =
      py::reinterpret_steal<py::object>(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  Py_ssize_t length = 0;
  const char* const text =
      module && PyUnicode_Check(module.ptr()) ? PyUnicode_AsUTF8AndSize(module.ptr(), &length) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  return std::string_view(text, static_cast<std::size_t>(length)).starts_with("dask.array.");
}

// A tuple has one index array for each axis.
bool holds_dask_array(PyObject* object) {
  if (!PyTuple_CheckExact(object)) return is_dask_array(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (is_dask_array(PyTuple_GET_ITEM(object, i))) return true;
  }
  return false;
}

// The faces of other systems have operators of equal names with parameters of their own.
bool is_face(PyObject* definition) {
  const auto module = py::reinterpret_steal<py::object>(PyObject_GetAttrString(definition, "__module__"));
  PyErr_Clear();
  return module && PyUnicode_Check(module.ptr()) &&
         std::string_view(PyUnicode_AsUTF8(module.ptr())).starts_with("gatherscatter.compat.");
}

}  // namespace

PyObject* function_for_dask(PyObject* definition, PyObject* name, const RawCall& raw) {
  const Py_ssize_t count = raw.positional + raw.keyword_count();
  bool found = false;
  for (Py_ssize_t i = 0; i < count && !found; ++i) found = holds_dask_array(raw.arguments[i]);
  if (!found || is_face(definition)) return nullptr;
  const auto module = py::reinterpret_steal<py::object>(PyImport_ImportModule("gatherscatter.dask"));
  if (!module) return nullptr;
  PyObject* const function = PyObject_GetAttr(module.ptr(), name);
  if (function == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return function;
}

}  // namespace gs
