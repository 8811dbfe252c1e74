// read_ids.h: reads the ids that a plan describes, block by block.
#pragma once

#include <cstdint>

#include "backends/group_kernels.h"
#include "core/plan.h"

namespace gs {

// A plan of a gather by one index array describes the ids: the extent of the axis is the number of groups. Both
// functions read each id of the points [first, last) of its index space once.

// Writes the key of each point: that of the first one to `keys`, the others behind it. Returns false if the rule
// forbids an id.
bool read_ids(const GroupKernels& kernels, int key_bytes, const Plan& plan, const Buffers& buffers, int64_t first,
              int64_t last, std::byte* keys);

// The largest id of a point that the mask does not hide, INT64_MAX for one beyond int64; -1 if none is 0 or positive.
int64_t largest_id(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last);

}  // namespace gs
