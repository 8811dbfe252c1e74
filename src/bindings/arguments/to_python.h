// to_python.h: allocates results as arrays of the caller's own library.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/arguments/operands.h"

namespace gs {

// A fresh C-contiguous array that has not been returned to the caller yet.
class Result {
 public:
  // The array has the library, dtype and array type of the input. If a GPU reads the input from host memory, it has the
  // library of the first operand on the GPU.
  Result(const Operands& operands, const Dims& shape);
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result();

  std::byte* data() const { return data_; }
  // Returns the finished object: a NumPy scalar if the result is a NumPy array without axes.
  py::object take();

 private:
  void make_on_host(const Dims& shape);
  void make_on_device(const DeviceCall& call, const Operand& input, const Dims& shape);
  const Operand& prototype_;  // the operand whose library allocates the array
  py::object object_;
  dlpack::ManagedTensorVersioned* tensor_ = nullptr;
  std::byte* data_ = nullptr;
  bool is_finished_ = false;  // the library has made the final object
};

}  // namespace gs
