// numpy_api.h: NumPy's C API, one table for all binding files; module.cpp fills it.
#pragma once

#define PY_ARRAY_UNIQUE_SYMBOL gatherscatter_numpy_api
#ifndef GS_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
// Python.h first
#include <numpy/arrayobject.h>
