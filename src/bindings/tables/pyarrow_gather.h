// pyarrow_gather.h: gathers rows of a table of pyarrow in one call from Python, which few rows are worth.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

// Adds `pyarrow_gather` to the module.
void bind_pyarrow_gather(pybind11::module_& module);

}  // namespace gs
