// fresh_arrays.h: declares the functions that allocate arrays for the parts of operators that are written in Python.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

void bind_fresh_arrays(pybind11::module_& module);

}  // namespace gs
