// views.cpp: derives the buffers of a run from the views of a call.
#include "calls/views.h"

#include "core/checked.h"

namespace gs {

Buffers buffers_of(const Request& request, const Views& views, std::byte* dense, std::byte* indexed) {
  Buffers buffers;
  buffers.dense = dense;
  buffers.indexed = indexed;
  if (views.mask) buffers.mask = views.mask->data;
  if (views.fill) buffers.fill = views.fill->data;
  if (request.coordinates) {
    const IndexView& all = views.indices[0];
    const int last = all.rank() - 1;
    for (int64_t a = 0; a < all.extent[last]; ++a) buffers.index.push_back(all.data + a * all.stride[last]);
  } else {
    for (const IndexView& index : views.indices) buffers.index.push_back(index.data);
  }
  return buffers;
}

ArrayView contiguous_view(std::byte* data, const Dims& extent, int64_t item) {
  return {data, item, extent, contiguous_strides(extent, item)};
}

int64_t bytes_of(const ArrayView& view) {
  return checked_mul(checked_count(view.extent), view.item);
}

bool is_packed(const ArrayView& view) {
  const Dims strides = contiguous_strides(view.extent, view.item);
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] > 1 && view.stride[axis] != strides[axis]) return false;
  }
  return true;
}

}  // namespace gs
