// torch_modes.cpp: see torch_modes.h.
#include "bindings/torch_modes.h"

namespace gs::dlpack {
namespace {

namespace py = pybind11;

// One kind of mode: whether some are on, and the class whose instances turn them off. Null where this torch has it not.
struct ModeKind {
  ModeKind(const char* question, const char* manager)
      : count(attribute(question).release().ptr()), off(attribute(manager).release().ptr()) {}

  // Of the module that torch has loaded. Importing it would run Python code, where threads may change over and wait for
  // the static variable that is being made.
  static py::object attribute(const char* name) {
    const auto module = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("torch._C").ptr()));
    if (!module) PyErr_Clear();
    return module ? py::getattr(module, name, py::none()) : py::object(py::none());
  }

  // Asked by a function of C, which no mode answers for. Not known counts as on.
  bool is_on() const {
    const auto answer = count == Py_None ? py::object() : py::reinterpret_steal<py::object>(PyObject_CallNoArgs(count));
    if (answer) return PyObject_IsTrue(answer.ptr()) != 0;
    PyErr_Clear();
    return true;
  }

  py::object entered() const {
    if (off == Py_None || !is_on()) return {};
    py::object manager = py::handle(off)();
    manager.attr("__enter__")();
    return manager;
  }

  PyObject* count;
  PyObject* off;
};

void release_streams(const py::object& manager) {
  if (!manager) return;
  const auto done = py::reinterpret_steal<py::object>(
      PyObject_CallMethod(manager.ptr(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  if (!done) PyErr_Clear();
}

}  // namespace

WithoutModes::WithoutModes() {
  static const ModeKind functions("_len_torch_function_stack", "DisableTorchFunction");
  static const ModeKind dispatch("_len_torch_dispatch_stack", "_DisableTorchDispatch");
  function_ = functions.entered();
  dispatch_ = dispatch.entered();
}

WithoutModes::~WithoutModes() {
  const py::error_scope kept;
  release_streams(dispatch_);
  release_streams(function_);
}

}  // namespace gs::dlpack
