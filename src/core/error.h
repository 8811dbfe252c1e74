// error.h: defines the exceptions that the bindings turn into the Python exceptions named beside them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gs {

// A shape, rank, count or size that does not fit: ValueError.
struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Batch axes that differ: a Python class that derives from both ValueError and RuntimeError, because some source
// systems raise the one and some the other.
struct BatchShapeError : ShapeError {
  using ShapeError::ShapeError;
};

// A dtype that an operator does not accept: TypeError.
struct DTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// An axis number outside the rank: numpy.exceptions.AxisError, which is a ValueError and an IndexError.
struct AxisError : std::out_of_range {
  AxisError(int64_t bad_axis, int64_t array_rank)
      : std::out_of_range("axis " + std::to_string(bad_axis) + " is out of bounds for array of dimension " +
                          std::to_string(array_rank)),
        axis(bad_axis),
        rank(array_rank) {}
  int64_t axis;
  int64_t rank;
};

// Data from another library that is inconsistent: BufferError.
struct ExchangeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file behind an array that cannot be read: OSError.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gs
