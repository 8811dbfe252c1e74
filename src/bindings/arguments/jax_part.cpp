// jax_part.cpp: looks for tracers of JAX. JAX is not imported for that.
#include "bindings/numpy_api.h"
// NumPy's header first
#include "bindings/arguments/jax_part.h"
#include "bindings/python_calls.h"

namespace gs {
namespace {

// The class of tracers; null while JAX is not imported. It is looked for in every call until then.
PyTypeObject* tracer_class() {
  static PyTypeObject* found = nullptr;
  if (found != nullptr) return found;
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const core = PyDict_GetItemString(modules, "jax.core");
  if (core == nullptr) return nullptr;
  PyObject* const cls = call_python([&] { return PyObject_GetAttrString(core, "Tracer"); });
  if (cls == nullptr) PyErr_Clear();
  if (cls == nullptr || !PyType_Check(cls)) {
    Py_XDECREF(cls);
    return nullptr;
  }
  found = reinterpret_cast<PyTypeObject*>(cls);
  return found;
}

}  // namespace

bool jax_takes_part(const RawOperands& operands) {
  PyTypeObject* const tracer = tracer_class();
  if (tracer == nullptr) return false;
  const auto is_tracer = [&](py::handle object) {
    return object && !PyArray_CheckExact(object.ptr()) && PyObject_TypeCheck(object.ptr(), tracer) != 0;
  };
  for (const py::handle object : {operands.input, operands.fill, operands.mask, operands.out, operands.source}) {
    if (is_tracer(object)) return true;
  }
  if (!operands.indices || !PyTuple_Check(operands.indices.ptr())) return is_tracer(operands.indices);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands.indices.ptr()); ++i) {
    if (is_tracer(PyTuple_GET_ITEM(operands.indices.ptr(), i))) return true;
  }
  return false;
}

}  // namespace gs
