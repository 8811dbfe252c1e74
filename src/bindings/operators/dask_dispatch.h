// dask_dispatch.h: declares how calls with Dask arrays among their arguments reach `gatherscatter.dask`.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/operators/lane.h"

namespace gs {

// The function of `gatherscatter.dask` that runs a call of the operator of this name, as a new reference. Null without
// an error if no argument is a Dask array, or if the module has no such function; null with an error if Dask cannot be
// imported.
PyObject* function_for_dask(PyObject* definition, PyObject* name, const RawCall& raw);

}  // namespace gs
