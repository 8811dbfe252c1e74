// gather.h: declares the runs of a gather: into fresh memory, tile by tile, or into an array of the caller.
#pragma once

#include "calls/call_context.h"
#include "calls/call_result.h"
#include "calls/views.h"

namespace gs {

// Gathers into `result`: fresh contiguous memory of plan.result_shape, which the caller discards unless the call ends
// with Ending::done.
CallResult run_gather(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                      std::byte* result);

// Gathers into `views.out`. All indices are checked before the first write, unless their check is deferred. If `out`
// overlaps an argument, the result is as if the argument had been copied first. `plan` is the plan for these views.
CallResult run_gather_into(CallContext& call, const Request& request, const Plan& plan, const Views& views);

}  // namespace gs
