// offer.h: registers the modules that run device kernels, as described in devices.h.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

namespace py = pybind11;

// Adds `offer_devices`, the function that registers such a module.
void bind_offer(py::module_& module);

// With GS_BACKEND=reference, imports the module that runs the kernel bodies on the CPU.
void load_reference();

}  // namespace gs
