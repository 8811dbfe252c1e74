// grouping.h: declares the binding of groups of points.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `group` to the module.
void bind_grouping(pybind11::module_& module);

}  // namespace gs
