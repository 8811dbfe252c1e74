// numpy_api.h: includes NumPy's C API with one function table for all binding files, which module.cpp fills.
#pragma once

#define PY_ARRAY_UNIQUE_SYMBOL gatherscatter_numpy_api
#ifndef GS_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
// Python.h first
#include <numpy/arrayobject.h>
