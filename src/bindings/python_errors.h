// python_errors.h: C++ exceptions and bad indices as Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "core/plan.h"

namespace gs {

namespace py = pybind11;

// When an error is raised: in its call, or later, then perhaps with the index array changed since, so that the value
// that was bad is not known.
enum class Moment : uint8_t { now, later, later_and_changed };

// Raises OutOfBoundsError as a py::error_already_set. `full`: the value, where the index array does not hold it.
[[noreturn]] void raise_out_of_bounds(py::handle op, const Plan& plan, const BadIndex& bad, Moment moment = Moment::now,
                                      const py::object& full = {});

// Objects of a class of ours are made by our functions only: `__new__` alone would leave one without a value.
void forbid_new(py::handle type);

// Sets the Python error for the exception in flight; messages begin with the operator's name.
void set_python_error(const char* op) noexcept;

// Runs body and gives its object; on an exception sets the Python error and gives null. For functions of the C API.
template <class Body>
PyObject* guarded(const char* op, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)().release().ptr();
  } catch (...) {
    set_python_error(op);
    return nullptr;
  }
}

}  // namespace gs
