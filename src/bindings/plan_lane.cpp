// plan_lane.cpp: runs small calls of prepared plans without a Python frame.
#include "bindings/plan_lane.h"

#include <structmember.h>

#include <cstddef>

#include "bindings/plan_object.h"
#include "bindings/python_errors.h"

namespace gs {
namespace {

struct PlanBase {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* core;
  const PlanObject* plan;  // the C++ object in `core`
};

// Returns null without a Python error if the Python method has to run the call.
PyObject* try_small(const PlanObject* plan, PyObject* const* arguments, Py_ssize_t positional, PyObject* keywords) {
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  if (plan == nullptr || positional != 2) return nullptr;
  PyObject* out = nullptr;
  if (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0) {
    if (PyTuple_GET_SIZE(keywords) != 1 || PyTuple_GET_ITEM(keywords, 0) != out_name) return nullptr;
    if (arguments[2] != Py_None) out = arguments[2];
  }
  return plan->small_call(arguments[0], arguments[1], out);
}

PyObject* call_plan(PyObject* object, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto* self = reinterpret_cast<const PlanBase*>(object);
  try {
    PyObject* result = try_small(self->plan, arguments, PyVectorcall_NARGS(flags), keywords);
    if (result != nullptr || PyErr_Occurred()) return result;
  } catch (...) {
    set_python_error("gatherscatter");
    return nullptr;
  }
  const auto definition = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, "__call__"));
  if (!definition) return nullptr;
  if (!PyMethod_Check(definition.ptr())) {  // a bare PlanBase: its `__call__` is this function
    PyErr_SetString(PyExc_TypeError, "a PlanBase alone cannot be called");
    return nullptr;
  }
  return PyObject_Vectorcall(definition.ptr(), arguments, flags, keywords);
}

PyObject* new_plan(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object != nullptr) reinterpret_cast<PlanBase*>(object)->vectorcall = call_plan;
  return object;
}

void free_plan(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_CLEAR(reinterpret_cast<PlanBase*>(object)->core);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* get_core(PyObject* object, void*) {
  PyObject* core = reinterpret_cast<PlanBase*>(object)->core;
  if (core == nullptr) PyErr_SetString(PyExc_AttributeError, "_core");
  return Py_XNewRef(core);
}

// Sets the plan once. It cannot be replaced, because another thread may be running it.
int set_core(PyObject* object, PyObject* core, void*) {
  auto* self = reinterpret_cast<PlanBase*>(object);
  if (core == nullptr || self->core != nullptr || !py::isinstance<PlanObject>(core)) {
    PyErr_SetString(PyExc_TypeError, "a Plan holds one plan, which cannot be replaced");
    return -1;
  }
  self->plan = &py::cast<const PlanObject&>(py::handle(core));
  self->core = Py_NewRef(core);
  return 0;
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PlanBase, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"_core", get_core, set_core, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_plan)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_plan)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"gatherscatter._core.PlanBase", sizeof(PlanBase), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};

// Lets calls of a derived class use vectorcall. Python gives a class with a `__call__` of its own a tp_call that looks
// `__call__` up, and before 3.12 no class inherits vectorcall.
py::object plan_lane(const py::object& base, const py::type& type) {
  auto* raw = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (raw->tp_base != reinterpret_cast<PyTypeObject*>(base.ptr()) ||
      !py::isinstance<py::function>(type.attr("__call__"))) {
    throw py::type_error("plan_lane is for a class that derives from PlanBase and has a __call__");
  }
  raw->tp_call = PyVectorcall_Call;
  raw->tp_vectorcall_offset = offsetof(PlanBase, vectorcall);
  raw->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(raw);
  return type;
}

}  // namespace

void bind_plan_lane(py::module_& module) {
  const auto base = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!base) throw py::error_already_set();
  module.attr("PlanBase") = base;
  module.def("plan_lane", [base](const py::type& type) { return plan_lane(base, type); });
}

}  // namespace gs
