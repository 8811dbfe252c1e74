// python_errors.h: declares how C++ exceptions and bad indices become Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "core/plan.h"

namespace gs {

namespace py = pybind11;

// When an error is raised: during its call, after it, or after it with an index array that has changed since. In the
// last case the value of the bad index is not known.
enum class Moment : uint8_t { now, later, later_and_changed };

// Raises OutOfBoundsError as a py::error_already_set. `written`: the value as it was written, if the index array does
// not hold the exact value.
[[noreturn]] void raise_out_of_bounds(py::handle op, const Plan& plan, const BadIndex& bad, Moment moment = Moment::now,
                                      const py::object& written = {});

// Makes `__new__` of a bound class raise TypeError, because an object from `__new__` alone would have no C++ value.
void forbid_new(py::handle type);

// Sets the Python error for the C++ exception in flight. Messages begin with the operator's name.
void set_python_error(const char* op) noexcept;

// Runs body and returns its object. On an exception, sets the Python error and returns null, as the C API does.
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
