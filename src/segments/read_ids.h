// read_ids.h: reads the ids of points, and resolves each to the group that it names.
#pragma once

#include <cstdint>
#include <limits>

#include "core/plan.h"

namespace gs {

// The group of a point that is left out: masked, or dropped by the rule.
template <class Key>
inline constexpr Key kNoGroup = std::numeric_limits<Key>::max();

// A plan of a gather by one index array describes the ids: the extent of the axis is the number of groups. Both
// functions read each id of the points [first, last) of its index space once.

// Writes the group of each point to keys[0], keys[1], .. Returns false if the rule forbids an id. Under
// Bounds::unchecked an id outside is left out.
template <class Key>
bool read_ids(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last, Key* keys);

// The largest id of a point that the mask does not hide, INT64_MAX for one beyond int64; -1 if none is positive or 0.
int64_t largest_id(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last);

}  // namespace gs
