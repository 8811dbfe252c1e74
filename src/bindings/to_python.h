// to_python.h: results, allocated as arrays of the caller's own library.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/from_python.h"

namespace gs {

// A fresh C-contiguous array that has not been handed out yet.
class Result {
 public:
  // Like `source` in library, dtype and array type.
  Result(const Operand& source, const Dims& shape);
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result();

  std::byte* data() const { return data_; }
  // The finished object; NumPy scalars where NumPy gives scalars.
  py::object take();

 private:
  const Operand& source_;
  py::object object_;
  dlpack::ManagedTensorVersioned* tensor_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace gs
