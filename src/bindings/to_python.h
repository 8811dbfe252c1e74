// to_python.h: results, allocated as arrays of the caller's own library.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/run.h"

namespace gs {

py::tuple to_tuple(const Dims& dims);

// A fresh C-contiguous array that has not been handed out yet.
class Result {
 public:
  // Like the input in library, dtype and array type; where that is host memory read by a GPU, of the library there.
  Result(const Operands& operands, const Dims& shape);
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result();

  std::byte* data() const { return data_; }
  // The finished object; NumPy scalars where NumPy gives scalars.
  py::object take();

 private:
  void make_on_host(const Dims& shape);
  void make_there(const DeviceCall& place, const Operand& input, const Dims& shape);
  const Operand& source_;  // gives the library
  py::object object_;
  dlpack::ManagedTensorVersioned* tensor_ = nullptr;
  std::byte* data_ = nullptr;
  bool is_finished_ = false;  // its library made it
};

}  // namespace gs
