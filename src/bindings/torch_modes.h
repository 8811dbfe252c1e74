// torch_modes.h: modes of torch, whose Python code is run in the place of a question to a tensor.
#pragma once

#include <pybind11/pybind11.h>

namespace gs::dlpack {

// While one of these lives, tensors answer for themselves: a mode may do anything to any tensor, so none runs between
// the look at a header and its use. Costs two questions where no mode is on.
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
