// error.h: the exceptions that planners throw; the bindings turn each into the Python exception named beside it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gs {

// A shape, rank, count or size that does not fit: ValueError.
struct ShapeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Batch axes that differ: an error class of both kinds that the source systems raise, ValueError and RuntimeError.
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

// What another library handed over contradicts itself: BufferError.
struct ExchangeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gs
