// array_view.cpp: see array_view.h.
#include "core/array_view.h"

#include "core/checked.h"

namespace gs {

Dims contiguous_strides(const Dims& extent, int64_t item) {
  Dims stride(extent.size());
  // An empty array has strides too; none of them is ever followed, so their product may not overflow either.
  const bool empty = checked_count(extent) == 0;
  int64_t step = item;
  for (int axis = extent.size() - 1; axis >= 0; --axis) {
    stride[axis] = step;
    if (!empty) step = checked_mul(step, extent[axis]);
  }
  return stride;
}

}  // namespace gs
