// python_errors.cpp: converts C++ exceptions and bad indices to Python exceptions.
#include "bindings/python_errors.h"

#include <cxxabi.h>

#include <new>
#include <string>

#include "bindings/arguments/from_python.h"
#include "bindings/gil.h"
#include "bindings/python_calls.h"
#include "core/error.h"

namespace gs {
namespace {

void set(PyObject* type, const char* op, const std::exception& error) {
  PyErr_SetString(type, (std::string(op) + ": " + error.what()).c_str());
}

void set_python_class(const char* module, const char* name, py::tuple arguments) {
  const py::object type = python_part(module, name);
  const py::object error = python::answer([&] { return PyObject_CallObject(type.ptr(), arguments.ptr()); });
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

void raise_out_of_bounds(py::handle op, const Plan& plan, const BadIndex& bad, Moment moment,
                         const py::object& written) {
  const bool is_signed = index_is_signed(bad.type);
  const py::object held = is_signed ? py::object(py::int_(static_cast<int64_t>(bad.bits))) : py::int_(bad.bits);
  const py::object index = written ? written : held;
  const Dims coordinates = unravel(bad.flat, plan.index_shape);
  py::tuple position(static_cast<std::size_t>(coordinates.size()));
  for (int axis = 0; axis < coordinates.size(); ++axis) {
    position[static_cast<std::size_t>(axis)] = coordinates[axis];
  }
  const bool from_end = is_signed && plan.rule.negative == Negative::from_end;
  int64_t total = 1;
  for (const int64_t n : plan.index_shape) total *= n;
  const char* name = moment == Moment::now ? "OutOfBoundsError" : "DeferredOutOfBoundsError";
  py::tuple arguments = py::make_tuple(op, index, position, bad.axis, bad.size, bad.count, total, from_end);
  if (moment == Moment::later_and_changed) arguments = arguments + py::make_tuple(true);
  set_python_class("gatherscatter.errors", name, arguments);
  throw py::error_already_set();
}

void forbid_new(py::handle type) {
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = [](PyTypeObject* self, PyObject*, PyObject*) -> PyObject* {
    PyErr_Format(PyExc_TypeError, "%s objects cannot be created directly", self->tp_name);
    return nullptr;
  };
  PyType_Modified(reinterpret_cast<PyTypeObject*>(type.ptr()));
}

void set_python_error(const char* op) noexcept {
  try {
    try {
      throw;
#ifdef __GLIBCXX__
    } catch (const abi::__forced_unwind&) {  // Python code tried to acquire the GIL at exit (gil.h)
      wait_for_process_exit();
#endif
    } catch (py::error_already_set& error) {
      error.restore();
    } catch (const AxisError& error) {
      set_python_class("numpy.exceptions", "AxisError", py::make_tuple(error.axis, error.rank, op));
    } catch (const BatchShapeError& error) {
      set_python_class("gatherscatter.errors", "BatchShapeError",
                       py::make_tuple(std::string(op) + ": " + error.what()));
    } catch (const ShapeError& error) {
      set(PyExc_ValueError, op, error);
    } catch (const DTypeError& error) {
      set(PyExc_TypeError, op, error);
    } catch (const ExchangeError& error) {
      set(PyExc_BufferError, op, error);
    } catch (const FileError& error) {
      set(PyExc_OSError, op, error);
    } catch (const py::builtin_exception& error) {
      error.set_error();
    } catch (const std::bad_alloc&) {
      PyErr_Format(PyExc_MemoryError, "%s: not enough memory", op);
    } catch (const std::exception& error) {
      set(PyExc_RuntimeError, op, error);
    }
  } catch (py::error_already_set& error) {  // raised while the exception object was created
    error.restore();
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an error occurred, but its message could not be created");
  }
}

}  // namespace gs
