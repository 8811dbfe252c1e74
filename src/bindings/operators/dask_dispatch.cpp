// dask_dispatch.cpp: finds arrays of Dask and xarray among the arguments of a call by the names of their types. It
// imports neither library.
#include "bindings/operators/dask_dispatch.h"

#include <cstring>
#include <string_view>

#include "bindings/python_calls.h"

namespace py = pybind11;

namespace gs {
namespace {

// Whether a type has this name and is of a module that begins with `package`. The name is compared first, which costs a
// few nanoseconds for arguments of any other type.
bool is_of(PyObject* object, const char* name, std::string_view package) {
  PyTypeObject* const type = Py_TYPE(object);
  if (std::strcmp(type->tp_name, name) != 0) return false;
  const py::object module = python::attribute_or_none(reinterpret_cast<PyObject*>(type), "__module__");
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_Check(module.ptr()) ? PyUnicode_AsUTF8AndSize(module.ptr(), &length) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  return std::string_view(text, static_cast<std::size_t>(length)).starts_with(package);
}

bool is_dask_array(PyObject* object) {
  return is_of(object, "Array", "dask.array.");
}

bool is_labelled(PyObject* object) {
  return is_of(object, "DataArray", "xarray.");
}

// A tuple has one index array for each axis.
bool holds(bool (*is)(PyObject*), PyObject* object) {
  if (!PyTuple_CheckExact(object)) return is(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (is(PyTuple_GET_ITEM(object, i))) return true;
  }
  return false;
}

bool any_holds(bool (*is)(PyObject*), const RawCall& raw) {
  const Py_ssize_t count = raw.positional + raw.keyword_count();
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (holds(is, raw.arguments[i])) return true;
  }
  return false;
}

// The faces of other systems have operators of equal names with parameters of their own.
bool is_face(PyObject* definition) {
  const py::object module = python::attribute_or_none(definition, "__module__");
  return PyUnicode_Check(module.ptr()) &&
         std::string_view(PyUnicode_AsUTF8(module.ptr())).starts_with("gatherscatter.compat.");
}

}  // namespace

PyObject* function_for_dask(PyObject* definition, PyObject* name, const RawCall& raw) {
  if (!any_holds(is_dask_array, raw) || is_face(definition)) return nullptr;
  const py::object module = python::answer([] { return PyImport_ImportModule("gatherscatter.dask"); });
  PyObject* const function = call_python([&] { return PyObject_GetAttr(module.ptr(), name); });
  if (function == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return function;
}

PyObject* function_for_labels(PyObject* op, const RawCall& raw) {
  if (!any_holds(is_labelled, raw)) return nullptr;
  return python::call(python::part("gatherscatter._libraries.of_xarray", "on_values"), py::handle(op)).release().ptr();
}

}  // namespace gs
