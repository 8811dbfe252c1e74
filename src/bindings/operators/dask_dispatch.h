// dask_dispatch.h: declares how calls with arrays of Dask or xarray reach the Python code for them.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/operators/lane.h"

namespace gs {

// The function of `gatherscatter.dask` that runs a call of the operator of this name, as a new reference. Null without
// an error if no argument is a Dask array, or if the module has no such function; null with an error if Dask cannot be
// imported.
PyObject* function_for_dask(PyObject* definition, PyObject* name, const RawCall& raw);

// The function that runs a call of an operator on the values of its DataArrays, as a new reference. Null without an
// error if no argument is a DataArray.
PyObject* function_for_labels(PyObject* op, const RawCall& raw);

}  // namespace gs
