// tuples.h: converts the extents of arrays to Python tuples.
#pragma once

#include <pybind11/pybind11.h>

#include "core/small_vector.h"

namespace gs {

inline pybind11::tuple to_tuple(const Dims& dims) {
  pybind11::tuple tuple(static_cast<std::size_t>(dims.size()));
  for (int axis = 0; axis < dims.size(); ++axis) tuple[static_cast<std::size_t>(axis)] = dims[axis];
  return tuple;
}

}  // namespace gs
