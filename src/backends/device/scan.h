// scan.h: checks the indices of a plan, and searches for duplicates, without running the plan.
#pragma once

#include <optional>

#include "backends/device/machine.h"
#include "core/plan.h"

namespace gs::device {

// The points of plan.index_space that have a bad index, by their flat positions in plan.index_shape. Waits.
Status scan(Machine& machine, const Plan& plan, const Buffers& buffers);

// As the functions of core/plan.h. Both wait.
std::optional<BadIndex> first_outside(Machine& machine, const Plan& plan, const Buffers& buffers);
std::optional<Duplicate> first_duplicate(Machine& machine, const Plan& plan, const Buffers& buffers);

}  // namespace gs::device
