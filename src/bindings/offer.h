// offer.h: modules that run device kernels offer themselves; see devices.h.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

namespace py = pybind11;

void bind_offer(py::module_& module);

// With GS_BACKEND=reference: fetches the module that runs its kernels.
void load_reference();

}  // namespace gs
