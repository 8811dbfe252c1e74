// tile_lane.h: runs small calls of tile_gather and tile_scatter on ndarrays, without a Python frame.
#pragma once

#include "bindings/operators/lane.h"

namespace gs {

// Gathers, or scatters in place, at few points. A call needs no plan: its positions are found, then its items are
// moved. Declined, with nothing written, for all other objects, for values that need a cast, for results without axes,
// for arguments that do not fit together, and for an index outside under check_bounds=False.
LaneResult run_in_tile_lane(const LaneForm& form, const RawCall& raw);

}  // namespace gs
