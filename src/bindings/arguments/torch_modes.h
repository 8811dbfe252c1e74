// torch_modes.h: disables the modes of torch, whose Python code would run when a tensor is queried.
#pragma once

#include <pybind11/pybind11.h>

namespace gs::dlpack {

// Disables all modes of torch for the duration of a scope. A mode may change any tensor, so none may run between
// reading the header of a tensor and using it. Costs two calls if no mode is active.
class WithoutModes {
 public:
  WithoutModes();
  WithoutModes(const WithoutModes&) = delete;
  WithoutModes& operator=(const WithoutModes&) = delete;
  ~WithoutModes();

 private:
  pybind11::object function_, dispatch_;  // context managers that were entered; empty otherwise
};

}  // namespace gs::dlpack
