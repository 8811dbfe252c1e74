// gradient_parts.h: declares the functions by which gradients of tensors use calls/value_gradients.h.
#pragma once

#include <pybind11/pybind11.h>

namespace gs {

void bind_gradient_parts(pybind11::module_& module);

}  // namespace gs
