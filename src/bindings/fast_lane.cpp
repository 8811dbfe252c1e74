// fast_lane.cpp: see fast_lane.h. The Python function stays the definition: whatever is unusual, any other argument and
// every error but a bad index, is its business.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <structmember.h>

#include <cstddef>
#include <optional>

#include "bindings/errors.h"
#include "bindings/fast_lane.h"
#include "bindings/run.h"
#include "core/error.h"

namespace gs {
namespace {

// A call as the C API hands it over: positional arguments, then the values of keywords.
struct Call {
  PyObject* const* arguments;
  Py_ssize_t positional;
  PyObject* keywords;  // tuple of names, or null
  Py_ssize_t keyword_count() const { return keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords); }
};

bool is_plain_array(PyObject* object) {
  return PyArray_CheckExact(object) || dlpack::torch().is_tensor(object);
}

bool is_int(PyObject* object, int64_t& value) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

// The third argument or the keyword `axis`, if there is nothing else; false where the call has another form.
bool axis_argument(const Call& call, std::optional<int64_t>& axis) {
  static PyObject* const name = PyUnicode_InternFromString("axis");
  PyObject* given = nullptr;
  if (call.positional == 3 && call.keyword_count() == 0) given = call.arguments[2];
  if (call.positional == 2 && call.keyword_count() == 1 && PyTuple_GET_ITEM(call.keywords, 0) == name) {
    given = call.arguments[2];
  }
  if (given == nullptr) return call.positional == 2 && call.keyword_count() == 0;
  if (given == Py_None) {
    axis.reset();
    return true;
  }
  int64_t value = 0;
  if (!is_int(given, value)) return false;
  axis = value;
  return true;
}

// A lane fills in the request and says where the index stands; null where the call is not one of its own.
using Lane = PyObject* (*)(const Call& call, Request& request);

PyObject* take_lane(const Call& call, Request& request) {
  request.planner = Planner::take_axis;
  return axis_argument(call, request.axis) ? call.arguments[1] : nullptr;
}

PyObject* take_along_axis_lane(const Call& call, Request& request) {
  request.planner = Planner::along_axis;
  request.match = Match::broadcast;
  request.axis = -1;
  return axis_argument(call, request.axis) && request.axis ? call.arguments[1] : nullptr;
}

PyObject* gather_lane(const Call& call, Request& request) {
  int64_t dim = 0;
  if (call.positional == 3 && call.keyword_count() == 0 && is_int(call.arguments[1], dim)) {
    request.planner = Planner::along_axis;
    request.axis = dim;
    return call.arguments[2];
  }
  request.planner = Planner::take_axis;
  return axis_argument(call, request.axis) && request.axis ? call.arguments[1] : nullptr;
}

Lane lane_named(const std::string& name) {
  if (name == "take") return take_lane;
  if (name == "take_along_axis") return take_along_axis_lane;
  if (name == "gather") return gather_lane;
  throw py::value_error("no fast lane is named " + name);
}

struct Operator {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* attributes;  // __dict__
  PyObject* name;
  Lane lane;
};

// Null without a Python error: the call belongs to the Python function.
PyObject* try_lane(const Operator& self, const Call& call) {
  if (call.positional < 2 || !is_plain_array(call.arguments[0])) return nullptr;
  try {
    Request request;
    PyObject* index = self.lane(call, request);
    if (index == nullptr || !is_plain_array(index)) return nullptr;
    request.op = py::reinterpret_borrow<py::object>(self.name);
    return run_plain(request, call.arguments[0], index).release().ptr();
  } catch (const py::error_already_set&) {
    set_python_error("gatherscatter");  // restores it
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception&) {
    return nullptr;  // shapes and dtypes: the function knows the words for it
  }
}

PyObject* call_operator(PyObject* object, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto& self = *reinterpret_cast<Operator*>(object);
  PyObject* result = try_lane(self, {arguments, PyVectorcall_NARGS(flags), keywords});
  if (result != nullptr || PyErr_Occurred()) return result;
  return PyObject_Vectorcall(self.function, arguments, flags, keywords);
}

void free_operator(PyObject* object) {
  auto* self = reinterpret_cast<Operator*>(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->name);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* repr_operator(PyObject* object) {
  return PyUnicode_FromFormat("<operator %U of gatherscatter>", reinterpret_cast<Operator*>(object)->name);
}

// As a class attribute it becomes a method, like any function.
PyObject* get_method(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr) return Py_NewRef(object);
  return PyMethod_New(object, instance);
}

PyObject* reduce_operator(PyObject* object, PyObject*) {
  return Py_NewRef(reinterpret_cast<Operator*>(object)->name);  // pickled by its name
}

PyMethodDef operator_methods[] = {
    {"__reduce__", reduce_operator, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Operator, attributes), READONLY, nullptr},
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

PyType_Spec operator_spec = {"gatherscatter._core.Operator", sizeof(Operator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             operator_slots};

py::object make_operator(const py::handle& type, const std::string& name, const py::function& function) {
  const Lane lane = lane_named(name);
  auto* self = PyObject_New(Operator, reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (self == nullptr) throw py::error_already_set();
  self->vectorcall = call_operator;
  self->function = Py_NewRef(function.ptr());
  self->attributes = nullptr;
  self->name = py::str(name).release().ptr();
  PyUnicode_InternInPlace(&self->name);
  self->lane = lane;
  auto object = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(self));
  py::module_::import("functools").attr("update_wrapper")(object, function);
  return object;
}

}  // namespace

void bind_fast_lane(py::module_& module) {
  PyObject* type = PyType_FromSpec(&operator_spec);
  if (type == nullptr) throw py::error_already_set();
  module.attr("Operator") = py::reinterpret_steal<py::object>(type);
  module.def("operator_lane", [module](const std::string& name) {
    return py::cpp_function([name, type_object = py::object(module.attr("Operator"))](const py::function& function) {
      return make_operator(type_object, name, function);
    });
  });
}

}  // namespace gs
