// scatter.h: declares the runs of a scatter: into a fresh copy of the input, or into an array of the caller.
#pragma once

#include "calls/call_context.h"
#include "calls/call_result.h"
#include "calls/views.h"

namespace gs {

// Whether the points run in reverse order: the duplicates that Duplicates::first keeps are then written last.
bool runs_reversed(const Request& request, const Plan& plan);

// Copies the input to `result`, fresh contiguous memory of its shape, and scatters into it. The caller discards the
// memory unless the call ends with Ending::done. `planned`: the plan for these views; null: it is made here.
CallResult run_scatter(CallContext& call, const Request& request, const Plan* planned, const Views& views,
                       std::byte* result);

// Scatters into `target`, which holds the values of the input already and which the caller discards unless the call
// ends with Ending::done. `plan`: the plan for these views.
CallResult run_scatter_onto(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                            std::byte* target);

// Scatters into `views.out`, after copying the input to it unless both are one array. All indices are checked before
// the first write, unless their check is deferred. If `out` overlaps an argument, the result is as if the argument had
// been copied first.
CallResult run_scatter_into(CallContext& call, const Request& request, const Views& views);

}  // namespace gs
