// device_module.h: declares the functions for GPUs that are not operators.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds the functions that `gatherscatter.cuda` uses.
void bind_device(pybind11::module_& module);

}  // namespace gs
