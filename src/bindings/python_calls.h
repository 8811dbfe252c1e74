// python_calls.h: calls of Python objects from C++. They may run Python code, which lets other threads run, so that at
// exit the thread may end inside of each of them. It waits there instead (gil.h), before a frame above is unwound.
// pybind11's own calls do not wait: the rules of CI name the ones that are left.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bindings/gil.h"

namespace gs::python {

namespace py = pybind11;

// The object that a function of Python's C API returns as a new reference. Throws its exception.
template <class Make>
py::object answer(Make make) {
  auto object = py::reinterpret_steal<py::object>(call_python(make));
  if (!object) throw py::error_already_set();
  return object;
}

// The arguments are objects of Python, which the caller owns.
template <class... Arguments>
py::object call(const py::handle& callable, const Arguments&... arguments) {
  PyObject* const list[] = {nullptr, arguments.ptr()...};
  constexpr std::size_t kCount = sizeof...(arguments) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return answer([&] { return PyObject_Vectorcall(callable.ptr(), list + 1, kCount, nullptr); });
}

// `name` is a str.
template <class... Arguments>
py::object call_method(const py::handle& object, PyObject* name, const Arguments&... arguments) {
  PyObject* const list[] = {object.ptr(), arguments.ptr()...};
  constexpr std::size_t kCount = sizeof...(arguments) + 1;
  return answer([&] { return PyObject_VectorcallMethod(name, list, kCount, nullptr); });
}

template <class... Arguments>
py::object call_method(const py::handle& object, const char* name, const Arguments&... arguments) {
  const py::str text(name);
  return call_method(object, text.ptr(), arguments...);
}

inline py::object attribute(const py::handle& object, PyObject* name) {
  return answer([&] { return PyObject_GetAttr(object.ptr(), name); });
}

inline py::object attribute(const py::handle& object, const char* name) {
  return answer([&] { return PyObject_GetAttrString(object.ptr(), name); });
}

// The attribute; None if the object has none or raises an error.
inline py::object attribute_or_none(const py::handle& object, const char* name) {
  auto value =
      py::reinterpret_steal<py::object>(call_python([&] { return PyObject_GetAttrString(object.ptr(), name); }));
  if (value) return value;
  PyErr_Clear();
  return py::none();
}

inline bool has_attribute(const py::handle& object, const char* name) {
  auto value =
      py::reinterpret_steal<py::object>(call_python([&] { return PyObject_GetAttrString(object.ptr(), name); }));
  if (!value) PyErr_Clear();
  return static_cast<bool>(value);
}

// An attribute of a module, which is imported if it has not been.
inline py::object part(const char* module, const char* name) {
  const py::object found = answer([&] { return PyImport_ImportModule(module); });
  return attribute(found, name);
}

inline std::string text_of(const py::handle& object) {
  return py::cast<std::string>(answer([&] { return PyObject_Str(object.ptr()); }));
}

}  // namespace gs::python
