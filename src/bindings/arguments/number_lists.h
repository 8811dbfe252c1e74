// number_lists.h: declares the reader of nested lists of Python numbers.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

void bind_number_lists(pybind11::module_& module);

}  // namespace gs
