// torch_modes.cpp: enters and leaves the context managers that disable the modes of torch.
#include "bindings/arguments/torch_modes.h"

#include "bindings/python_calls.h"

namespace gs::dlpack {
namespace {

namespace py = pybind11;

// One kind of mode: the function that counts its active modes, and the class of context managers that disable them.
// Both are None if this version of torch does not have them.
struct ModeKind {
  ModeKind(const char* count_name, const char* manager_name)
      : count(attribute(count_name).release().ptr()), off(attribute(manager_name).release().ptr()) {}

  // Reads an attribute of torch._C, which torch has imported. An import here would run Python code, during which
  // another thread may run and wait for the static variable that this thread is initializing: a deadlock.
  static py::object attribute(const char* name) {
    const auto module = py::reinterpret_borrow<py::object>(PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C"));
    return module ? python::attribute_or_none(module, name) : py::object(py::none());
  }

  // Calls a C function, which no mode intercepts. If it fails, the mode counts as active.
  bool is_on() const {
    py::object answer;
    if (count != Py_None)
      answer = py::reinterpret_steal<py::object>(call_python([&] { return PyObject_CallNoArgs(count); }));
    if (answer) return PyObject_IsTrue(answer.ptr()) != 0;
    PyErr_Clear();
    return true;
  }

  py::object enter() const {
    if (off == Py_None || !is_on()) return {};
    py::object manager = python::call(off);
    python::call_method(manager, "__enter__");
    return manager;
  }

  PyObject* count;
  PyObject* off;
};

void exit_manager(const py::object& manager) {
  if (!manager) return;
  const auto done = py::reinterpret_steal<py::object>(
      call_python([&] { return PyObject_CallMethod(manager.ptr(), "__exit__", "OOO", Py_None, Py_None, Py_None); }));
  if (!done) PyErr_Clear();
}

}  // namespace

WithoutModes::WithoutModes() {
  static const ModeKind functions("_len_torch_function_stack", "DisableTorchFunction");
  static const ModeKind dispatch("_len_torch_dispatch_stack", "_DisableTorchDispatch");
  function_ = functions.enter();
  dispatch_ = dispatch.enter();
}

WithoutModes::~WithoutModes() {
  const py::error_scope kept;
  exit_manager(dispatch_);
  exit_manager(function_);
}

}  // namespace gs::dlpack
