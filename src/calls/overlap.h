// overlap.h: decides exactly whether elements of strided arrays share memory.
#pragma once

#include "core/array_view.h"

namespace gs {

// Whether any byte belongs to an element of both arrays. Exact, except that a problem that takes too much work counts
// as an overlap: then an argument is copied that need not be.
bool overlap(const ArrayView& a, const ArrayView& b);

// Whether two elements of one array share a byte. Exact with the same exception: then the array is rejected as `out`.
bool overlaps_itself(const ArrayView& view);

}  // namespace gs
