// operators.h: binds the planners as functions of the C API, which cost less per call than any other binding.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

void bind_operators(pybind11::module_& module);

}  // namespace gs
