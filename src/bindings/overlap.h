// overlap.h: exact questions about shared memory.
#pragma once

#include "core/array_view.h"

namespace gs {

// Whether any byte belongs to an element of both. Exact; only a problem that is too hard to decide counts as "yes".
bool overlap(const ArrayView& a, const ArrayView& b);

// Whether two elements of one array share a byte.
bool overlaps_itself(const ArrayView& view);

}  // namespace gs
