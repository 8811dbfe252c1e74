// views.h: holds the arrays of one call as views of memory that the caller owns, and derives buffers from them.
#pragma once

#include <optional>

#include "calls/request.h"
#include "core/array_view.h"
#include "core/one_or_many.h"

namespace gs {

struct Views {
  ArrayView input;
  OneOrMany<IndexView> indices;  // none for elementwise, any number for at_points, else one
  std::optional<ArrayView> mask;
  std::optional<ArrayView> fill;
  std::optional<ArrayView> source;  // the values that a scatter writes
  std::optional<ArrayView> out;
};

// The addresses that a run of the request's plan needs.
Buffers buffers_of(const Request& request, const Views& views, std::byte* dense, std::byte* indexed);

ArrayView contiguous_view(std::byte* data, const Dims& extent, int64_t item);
int64_t bytes_of(const ArrayView& view);
bool is_packed(const ArrayView& view);  // whether the items lie side by side, in C order

}  // namespace gs
