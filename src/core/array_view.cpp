// array_view.cpp: computes the strides of contiguous arrays.
#include "core/array_view.h"

#include "core/checked.h"

namespace gs {

Dims contiguous_strides(const Dims& extent, int64_t item) {
  Dims stride(extent.size());
  // No element of an empty array is addressed, so the product of its other extents may overflow: it is not computed.
  const bool empty = checked_count(extent) == 0;
  int64_t step = item;
  for (int axis = extent.size() - 1; axis >= 0; --axis) {
    stride[axis] = step;
    if (!empty) step = checked_mul(step, extent[axis]);
  }
  return stride;
}

}  // namespace gs
