// overlap.h: decides exactly whether arrays share memory.
#pragma once

#include "core/array_view.h"

namespace gs {

// Whether any byte belongs to an element of both arrays. Exact, except that a problem that is too hard counts as
// overlap.
bool overlap(const ArrayView& a, const ArrayView& b);

// Whether two elements of one array share a byte.
bool overlaps_itself(const ArrayView& view);

}  // namespace gs
