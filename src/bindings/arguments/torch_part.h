// torch_part.h: tells which arguments make a call one that torch has to know of.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/arguments/operands.h"

namespace gs {

// Whether an argument is a tensor whose gradient or tangent torch records, one with a lazy bit, one without memory of
// its own (inside torch.func, or fake), or any tensor while a mode of torch sees the operations. Such a call is more
// than a move of memory, and goes to gatherscatter._torch.
bool torch_takes_part(PyObject* object);
bool torch_takes_part(const RawOperands& operands);
// Whether torch records the gradient of an argument.
bool needs_gradient(PyObject* object);

}  // namespace gs
