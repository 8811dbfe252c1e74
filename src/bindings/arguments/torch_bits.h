// torch_bits.h: asks torch for the lazy negative bit of a tensor and for its gradient, by functions of C++.
#pragma once

#include <Python.h>

#include <optional>

namespace gs::dlpack {

// Whether a tensor has no lazy negative bit, and no gradient unless `ignores_gradients`. Runs no Python code. No answer
// if this version of torch lacks the functions, or before TorchMemory has found where a tensor keeps its C++ object.
// The methods of Python that say the same take forty times as long.
std::optional<bool> is_plain_float(PyObject* object, bool ignores_gradients);

}  // namespace gs::dlpack
