// array_view.h: describes an array of untyped items in memory that the view does not own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/index_type.h"
#include "core/small_vector.h"

namespace gs {

// Strides are in bytes and may be zero or negative.
struct ArrayView {
  std::byte* data = nullptr;
  int64_t item = 1;  // bytes of one element; may be 0 (an empty string or record dtype)
  Dims extent;
  Dims stride;

  int rank() const { return extent.size(); }
};

struct IndexView : ArrayView {
  IndexType type = IndexType::i64;
};

// Strides in bytes of a C-contiguous array of this shape.
Dims contiguous_strides(const Dims& extent, int64_t item);

}  // namespace gs
