// torch_lane.h: runs small calls that record a gradient by torch's own functions.
#pragma once

#include "bindings/operators/lane_call.h"

namespace gs {

// Runs a call by the function of torch that has the same values and the same gradients, byte for byte. torch records
// such a call in a third of the time that it needs for a function written in Python, which is most of the time of a
// small call. Declined for every call that has another meaning in torch, that is not small, or that raises an error.
LaneResult run_in_torch_lane(const LaneCall& call);

}  // namespace gs
