// pick_lane.h: runs small calls of compress, repeat, roll, putmask and place on ndarrays, without a Python frame.
#pragma once

#include "bindings/operators/lane.h"

namespace gs {

// Finds the positions of the points, or the value of each point, and runs the gather or the scatter that the call
// stands for as a small call. Declined, with nothing written, for other objects than exact ndarrays and numbers, for
// values that need a cast, and for all but few points.
LaneResult run_in_pick_lane(Pick pick, const LaneCall& call);

}  // namespace gs
