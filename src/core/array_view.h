// array_view.h: an array of opaque items that somebody else owns; strides are in bytes and may be zero or negative.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/index_type.h"
#include "core/small_vector.h"

namespace gs {

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

// Strides of a C-contiguous array of this shape.
Dims contiguous_strides(const Dims& extent, int64_t item);

}  // namespace gs
