// callable.cpp: defines operators and plans as one kind of object: forms of calls, then a Python function.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <structmember.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bindings/arguments/keywords.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/callable.h"
#include "bindings/operators/dask_dispatch.h"
#include "bindings/operators/forms.h"
#include "bindings/operators/lane.h"
#include "bindings/operators/methods.h"
#include "bindings/operators/pick_lane.h"
#include "bindings/operators/plan_object.h"
#include "bindings/operators/tile_lane.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "core/error.h"

namespace gs {
namespace {

// An operator or a plan. Both have forms; an operator has a name and a definition, a plan has a plan.
struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* attributes;  // __dict__ of an operator
  PyObject* weak_references;
  PyObject* name;
  PyObject* definition;
  const std::vector<LaneForm>* forms;
  bool returns_none;
  PyObject* core;          // the `_core.Plan` of a plan
  const PlanObject* plan;  // the C++ object in `core`
};

Callable* self_of(PyObject* object) {
  return reinterpret_cast<Callable*>(object);
}

// Runs a call by the first form that reads it.
LaneResult run_lane(const Callable& self, const RawCall& raw) {
  if (self.definition == nullptr && self.plan == nullptr) return LaneResult::declined();  // a plan that was never set
  for (const LaneForm& form : *self.forms) {
    if (form.is_tile) return run_in_tile_lane(form, raw);
    LaneCall call;
    if (!read_call(form, raw, call)) continue;
    try {
      if (form.pick != Pick::none) return run_in_pick_lane(form.pick, call);
      return self.plan != nullptr ? self.plan->run_small(call) : run_in_lane(call, self.name);
      // These errors say that the arguments do not fit together. Nothing was read or written. The definition raises
      // them, because the rules of its operator may convert arguments or have messages of their own.
    } catch (const AxisError&) {
    } catch (const ShapeError&) {
    } catch (const DTypeError&) {
    }
    break;
  }
  return LaneResult::declined();
}

// What an operator returns for the result of a move, whose reference is stolen.
PyObject* returned_by(const Callable& self, PyObject* result) {
  if (result == nullptr || !self.returns_none) return result;
  Py_DECREF(result);
  return Py_NewRef(Py_None);
}

// Completes the error of a call with keywords, if it is about one that the definition does not have.
void explain_keyword(PyObject* definition, PyObject* keywords) {
  if (keywords == nullptr || !PyErr_ExceptionMatches(PyExc_TypeError)) return;
  py::error_already_set error;
  const py::object explain = python_part("gatherscatter._ops.near_keywords", "explain_keyword");
  python::call(explain, py::handle(definition), error.value());
  error.restore();
}

// Apart from `call`, so that the code for other libraries does not lengthen the path of small calls.
[[gnu::noinline]] PyObject* call_definition(PyObject* object, PyObject* const* arguments, std::size_t flags,
                                            PyObject* keywords) {
  const Callable& self = *self_of(object);
  if (self.definition != nullptr) {
    const RawCall raw{arguments, PyVectorcall_NARGS(flags), keywords};
    if (const auto by_values = py::reinterpret_steal<py::object>(function_for_labels(object, raw))) {
      return call_python([&] { return PyObject_Vectorcall(by_values.ptr(), arguments, flags, keywords); });
    }
    if (PyErr_Occurred()) return nullptr;
    if (const auto lazy = py::reinterpret_steal<py::object>(function_for_dask(self.definition, self.name, raw))) {
      return call_python([&] { return PyObject_Vectorcall(lazy.ptr(), arguments, flags, keywords); });
    }
    if (PyErr_Occurred()) return nullptr;
    PyObject* const made =
        call_python([&] { return PyObject_Vectorcall(self.definition, arguments, flags, keywords); });
    if (made == nullptr) explain_keyword(self.definition, keywords);
    const BoundCall* const bound = made == nullptr ? nullptr : call_in(made);
    const bool is_move = bound != nullptr && !bound->steps;  // steps return what the operator returns
    PyObject* const result = run_returned(made);
    return is_move ? returned_by(self, result) : result;
  }
  const py::object method = python::attribute(object, "__call__");
  if (!PyMethod_Check(method.ptr())) {  // a bare PlanBase: its `__call__` is this function
    PyErr_SetString(PyExc_TypeError, "a PlanBase alone cannot be called");
    return nullptr;
  }
  return call_python([&] { return PyObject_Vectorcall(method.ptr(), arguments, flags, keywords); });
}

[[gnu::hot]] PyObject* call(PyObject* object, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const Callable& self = *self_of(object);
  try {
    const LaneResult lane = run_lane(self, {arguments, PyVectorcall_NARGS(flags), keywords});
    if (!lane.is_declined()) return returned_by(self, lane.object());
    return call_definition(object, arguments, flags, keywords);
  } catch (...) {
    set_python_error(self.name != nullptr ? PyUnicode_AsUTF8(self.name) : "gatherscatter");
    return nullptr;
  }
}

// ---- operators

void free_operator(PyObject* object) {
  Callable* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->definition);
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->name);
  delete self->forms;
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* repr_operator(PyObject* object) {
  return PyUnicode_FromFormat("<operator %U of gatherscatter>", self_of(object)->name);
}

// As a class attribute, an operator becomes a method, like a Python function.
PyObject* get_method(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr) return Py_NewRef(object);
  return PyMethod_New(object, instance);
}

PyObject* reduce_operator(PyObject* object, PyObject*) {
  return Py_NewRef(self_of(object)->name);  // pickle stores the name, as for functions
}

// The `Call` that the definition makes of these arguments; no other object.
PyObject* bind_method(PyObject* object, PyObject* arguments, PyObject* keywords) {
  PyObject* made = call_python([&] { return PyObject_Call(self_of(object)->definition, arguments, keywords); });
  if (made == nullptr) explain_keyword(self_of(object)->definition, keywords);
  if (made == nullptr || call_in(made) != nullptr) return made;
  Py_DECREF(made);
  PyErr_Format(PyExc_TypeError, "%U has no plan for these arguments: %s", self_of(object)->name, kMovesNothing);
  return nullptr;
}

PyMethodDef operator_methods[] = {
    {"__reduce__", reduce_operator, METH_NOARGS, nullptr},
    {"bind", as_method(bind_method), METH_VARARGS | METH_KEYWORDS,
     "The call that the operator would run on these arguments."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Callable, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef operator_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot operator_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_operator)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_operator)},
    {Py_tp_descr_get, reinterpret_cast<void*>(get_method)},
    {Py_tp_methods, operator_methods},
    {Py_tp_members, operator_members},
    {Py_tp_getset, operator_properties},
    {0, nullptr},
};

PyType_Spec operator_spec = {"gatherscatter._core.Operator", sizeof(Callable), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             operator_slots};

PyTypeObject* operator_type = nullptr;

py::object make_operator(const py::function& function, const py::list& forms, bool returns_none) {
  auto read = std::make_unique<std::vector<LaneForm>>(forms_in(forms));
  const py::str name = function.attr("__name__");
  auto* self = PyObject_New(Callable, operator_type);
  if (self == nullptr) throw py::error_already_set();
  self->vectorcall = call;
  self->attributes = nullptr;
  self->weak_references = nullptr;
  self->name = Py_NewRef(name.ptr());
  PyUnicode_InternInPlace(&self->name);
  self->definition = Py_NewRef(function.ptr());
  self->forms = read.release();
  self->returns_none = returns_none;
  self->core = nullptr;
  self->plan = nullptr;
  auto object = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(self));
  py::module_::import("functools").attr("update_wrapper")(object, function);
  return object;
}

py::object plan_of(const py::object& op, const py::args& args, const py::kwargs& kwargs) {
  if (Py_TYPE(op.ptr()) != operator_type) {
    const bool is_callable = PyCallable_Check(op.ptr()) != 0;
    throw py::type_error(is_callable ? "plan: " + shown(op) + " is not an operator that can be planned"
                                     : "plan and explain: op is " + shown(op) +
                                           ", expected an operator such as gatherscatter.gather");
  }
  const auto made = py::reinterpret_steal<py::object>(bind_method(op.ptr(), args.ptr(), kwargs.ptr()));
  if (!made) throw py::error_already_set();
  return plan_call(*call_in(made.ptr()));
}

// ---- plans

PyObject* new_plan(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object != nullptr) {
    self_of(object)->vectorcall = call;
    self_of(object)->forms = &plan_forms();
  }
  return object;
}

void free_plan(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_CLEAR(self_of(object)->core);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* get_core(PyObject* object, void*) {
  PyObject* core = self_of(object)->core;
  if (core == nullptr) PyErr_SetString(PyExc_AttributeError, "_core");
  return Py_XNewRef(core);
}

// Sets the plan once. It cannot be replaced, because another thread may be running it.
int set_core(PyObject* object, PyObject* core, void*) {
  Callable* self = self_of(object);
  if (core == nullptr || self->core != nullptr || !py::isinstance<PlanObject>(core)) {
    PyErr_SetString(PyExc_TypeError, "a Plan holds one plan, which cannot be replaced");
    return -1;
  }
  self->plan = &py::cast<const PlanObject&>(py::handle(core));
  self->core = Py_NewRef(core);
  return 0;
}

PyMemberDef plan_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef plan_properties[] = {
    {"_core", get_core, set_core, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot plan_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_plan)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_plan)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, plan_members},
    {Py_tp_getset, plan_properties},
    {0, nullptr},
};

PyType_Spec plan_spec = {"gatherscatter._core.PlanBase", sizeof(Callable), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, plan_slots};

// Lets calls of a derived class use vectorcall. Python gives a class with a `__call__` of its own a tp_call that looks
// `__call__` up, and before 3.12 no class inherits vectorcall.
py::object plan_class(const py::object& base, const py::type& type) {
  auto* raw = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (raw->tp_base != reinterpret_cast<PyTypeObject*>(base.ptr()) ||
      !py::isinstance<py::function>(type.attr("__call__"))) {
    throw py::type_error("plan_class is for a class that derives from PlanBase and has a __call__");
  }
  raw->tp_call = PyVectorcall_Call;
  raw->tp_vectorcall_offset = offsetof(Callable, vectorcall);
  raw->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(raw);
  return type;
}

py::object new_type(PyType_Spec& spec) {
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  return type;
}

}  // namespace

void bind_callables(py::module_& module) {
  const py::object type = new_type(operator_spec);
  operator_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.attr("Operator") = type;
  module.def("operator", &make_operator, py::arg("function"), py::arg("forms"), py::arg("returns_none") = false);
  module.def("plan_of", &plan_of);
  const py::object base = new_type(plan_spec);
  module.attr("PlanBase") = base;
  module.def("plan_class", [base](const py::type& derived) { return plan_class(base, derived); });
  // Whether a tensor is strided, in host memory and inside its storage. False also if torch's C functions cannot say.
  module.def("is_plain", [](py::handle tensor) {
    PlainArray array;
    return read_plain(tensor.ptr(), Role::data, array);
  });
}

}  // namespace gs
