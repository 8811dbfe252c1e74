// make_plan.h: makes the plan of a request for the geometry of a call.
#pragma once

#include "calls/views.h"

namespace gs {

// The plan of a gather into `out` or a fresh contiguous array, or of a scatter into the input itself. Reads no memory.
Plan make_plan(const Request& request, const Views& views);

// The plan of a scatter into `target`, which has the shape of the input.
Plan make_plan_on(const Request& request, const Views& views, const ArrayView& target);

// The plan of a scatter into the array that it will write: `out`, or a fresh contiguous copy of the input.
Plan make_scatter_plan(const Request& request, const Views& views);

}  // namespace gs
