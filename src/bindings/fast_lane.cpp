// fast_lane.cpp: runs public operators on their most frequent arguments without a Python frame. The Python function
// defines the operator: it runs every other form of call and raises every error except that of a bad index.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "bindings/fast_lane.h"
#include "bindings/plan_object.h"
#include "bindings/python_errors.h"
#include "bindings/run.h"
#include "bindings/small_call.h"
#include "core/error.h"

namespace gs {
namespace {

// A call as vectorcall passes it: positional arguments, then the values of keywords.
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

// The arguments of a call apart from its two arrays.
struct Options {
  bool has_axis = false;
  int64_t axis = 0;
  PyObject* out = nullptr;
};

bool set_axis(PyObject* given, Options& options) {
  options.has_axis = given != Py_None;
  return !options.has_axis || is_int(given, options.axis);
}

// Reads a third argument, if `takes_axis`, and the keywords `axis` and `out`. Returns false if the call has another
// form.
bool read_options(const Call& call, bool takes_axis, Options& options) {
  static PyObject* const axis_name = PyUnicode_InternFromString("axis");
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  const bool third = takes_axis && call.positional == 3;
  if (third && !set_axis(call.arguments[2], options)) return false;
  if (takes_axis && !third && call.positional != 2) return false;
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(call.keywords, i);
    PyObject* given = call.arguments[call.positional + i];
    if (name == out_name) {
      options.out = given == Py_None ? nullptr : given;
    } else if (name != axis_name || !takes_axis || third || !set_axis(given, options)) {
      return false;
    }
  }
  return true;
}

// A call whose arguments have been read.
struct ParsedCall {
  CallForm form;
  PyObject* index = nullptr;
  PyObject* source = nullptr;  // null: a gather
  PyObject* out = nullptr;
  bool returns_result = true;  // false: the operator returns None
};

// Reads a call of one operator. Returns false if the fast path does not support this form of call.
using CallReader = bool (*)(const Call& call, ParsedCall& parsed);

bool finish(const Call& call, const Options& options, ParsedCall& parsed, int index) {
  parsed.form.has_axis = options.has_axis;
  parsed.form.axis = options.axis;
  parsed.index = call.arguments[index];
  parsed.out = options.out;
  return true;
}

bool read_take(const Call& call, ParsedCall& parsed) {
  Options options;
  return read_options(call, true, options) && finish(call, options, parsed, 1);
}

bool read_take_along_axis(const Call& call, ParsedCall& parsed) {
  Options options{true, -1, nullptr};
  parsed.form.planner = Planner::along_axis;
  parsed.form.match = Match::broadcast;
  return read_options(call, true, options) && options.has_axis && finish(call, options, parsed, 1);
}

bool read_gather(const Call& call, ParsedCall& parsed) {
  Options options;
  if (call.positional == 3 && is_int(call.arguments[1], options.axis)) {
    options.has_axis = true;
    parsed.form.planner = Planner::along_axis;
    return read_options(call, false, options) && finish(call, options, parsed, 2);
  }
  return read_options(call, true, options) && options.has_axis && finish(call, options, parsed, 1);
}

bool read_scatter(const Call& call, ParsedCall& parsed) {
  Options options;
  if (call.positional != 4 || !is_int(call.arguments[1], options.axis)) return false;
  options.has_axis = true;
  parsed.form.direction = Direction::scatter;
  parsed.form.planner = Planner::along_axis;
  parsed.source = call.arguments[3];
  return read_options(call, false, options) && finish(call, options, parsed, 2);
}

bool read_put(const Call& call, ParsedCall& parsed) {
  if (call.positional != 3 || call.keyword_count() != 0) return false;
  parsed.form.direction = Direction::scatter;
  parsed.index = call.arguments[1];
  parsed.source = call.arguments[2];
  parsed.out = call.arguments[0];
  parsed.returns_result = false;
  return true;
}

bool read_put_along_axis(const Call& call, ParsedCall& parsed) {
  if (call.positional != 4 || call.keyword_count() != 0 || !is_int(call.arguments[3], parsed.form.axis)) return false;
  parsed.form.direction = Direction::scatter;
  parsed.form.planner = Planner::along_axis;
  parsed.form.match = Match::broadcast;
  parsed.form.has_axis = true;
  parsed.index = call.arguments[1];
  parsed.source = call.arguments[2];
  parsed.out = call.arguments[0];
  parsed.returns_result = false;
  return true;
}

CallReader reader_of(const std::string& name) {
  if (name == "take") return read_take;
  if (name == "take_along_axis") return read_take_along_axis;
  if (name == "gather") return read_gather;
  if (name == "scatter") return read_scatter;
  if (name == "put") return read_put;
  if (name == "put_along_axis") return read_put_along_axis;
  throw py::value_error("operator_lane: there is no fast path for an operator named " + name);
}

struct Operator {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* attributes;  // __dict__
  PyObject* name;
  CallReader reader;
};

// This function and the next return null without a Python error if the call is not a small call of plain arrays.
PyObject* try_scatter(const ParsedCall& parsed, PyObject* input) {
  if (parsed.out != nullptr && parsed.out != input) return nullptr;
  PlainArray target;
  PlainArray index;
  PlainArray source;
  if (!has_plain_values(input) || !has_plain_values(parsed.source)) return nullptr;
  if (!read_plain(input, Role::data, target) || target.rank == 0 || !target.is_contiguous() ||
      !read_plain(parsed.index, Role::index, index) || !read_plain(parsed.source, Role::source, source) ||
      source.rank != index.rank || !std::equal(index.extent, index.extent + index.rank, source.extent) ||
      !source.is_contiguous() || !source.same_type(target)) {
    return nullptr;
  }
  const SmallCall& small = SmallCalls::of_thread().find(parsed.form, target, index);
  return small ? small.scatter(target, index, source, parsed.out != nullptr) : nullptr;
}

PyObject* try_gather(const ParsedCall& parsed, PyObject* input) {
  PlainArray source;
  PlainArray index;
  PlainArray out;
  if (!has_plain_values(input) || (parsed.out != nullptr && !has_plain_values(parsed.out))) return nullptr;
  if (parsed.out != nullptr && !read_plain(parsed.out, Role::out, out)) return nullptr;
  if (!read_plain(input, Role::data, source) || source.rank == 0 || !read_plain(parsed.index, Role::index, index)) {
    return nullptr;
  }
  const SmallCall& small = SmallCalls::of_thread().find(parsed.form, source, index);
  return small ? small.gather(source, index, parsed.out == nullptr ? nullptr : &out) : nullptr;
}

// Returns null without a Python error if the Python function has to run the call.
PyObject* try_fast_path(const Operator& self, const Call& call) {
  if (call.positional < 2) return nullptr;
  try {
    ParsedCall parsed;
    if (!self.reader(call, parsed)) return nullptr;
    PyObject* input = call.arguments[0];
    if (!is_planning()) {
      PyObject* result = parsed.source != nullptr ? try_scatter(parsed, input) : try_gather(parsed, input);
      if (result != nullptr && !parsed.returns_result) {
        Py_DECREF(result);
        return Py_NewRef(Py_None);
      }
      if (result != nullptr || PyErr_Occurred()) return result;
    }
    if (parsed.source != nullptr || parsed.out != nullptr || !is_plain_array(input) || !is_plain_array(parsed.index)) {
      return nullptr;
    }
    const OperatorRequest request{parsed.form.request(), py::reinterpret_borrow<py::object>(self.name)};
    return run_plain(request, input, parsed.index).release().ptr();
  } catch (const py::error_already_set&) {
    set_python_error("gatherscatter");  // restores the Python error
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception&) {
    return nullptr;  // a shape or dtype error: the Python function raises it with its own message
  }
}

PyObject* call_operator(PyObject* object, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const auto& self = *reinterpret_cast<Operator*>(object);
  PyObject* result = try_fast_path(self, {arguments, PyVectorcall_NARGS(flags), keywords});
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

// As a class attribute, an operator becomes a method, like a Python function.
PyObject* get_method(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr) return Py_NewRef(object);
  return PyMethod_New(object, instance);
}

PyObject* reduce_operator(PyObject* object, PyObject*) {
  return Py_NewRef(reinterpret_cast<Operator*>(object)->name);  // pickle stores the name, as for functions
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
  const CallReader reader = reader_of(name);
  auto* self = PyObject_New(Operator, reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (self == nullptr) throw py::error_already_set();
  self->vectorcall = call_operator;
  self->function = Py_NewRef(function.ptr());
  self->attributes = nullptr;
  self->name = py::str(name).release().ptr();
  PyUnicode_InternInPlace(&self->name);
  self->reader = reader;
  auto object = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(self));
  py::module_::import("functools").attr("update_wrapper")(object, function);
  return object;
}

}  // namespace

void bind_fast_lane(py::module_& module) {
  PyObject* type = PyType_FromSpec(&operator_spec);
  if (type == nullptr) throw py::error_already_set();
  module.attr("Operator") = py::reinterpret_steal<py::object>(type);
  // Whether a tensor is strided, in host memory and inside its storage. False also if torch's C functions cannot say.
  module.def("is_plain", [](py::handle tensor) {
    PlainArray array;
    return read_plain(tensor.ptr(), Role::data, array);
  });
  module.def("operator_lane", [module](const std::string& name) {
    return py::cpp_function([name, type_object = py::object(module.attr("Operator"))](const py::function& function) {
      return make_operator(type_object, name, function);
    });
  });
}

}  // namespace gs
