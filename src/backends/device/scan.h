// scan.h: what can be asked about the indices of a plan before it is run.
#pragma once

#include <optional>

#include "backends/device/machine.h"
#include "core/plan.h"

namespace gs::device {

// Bad points of plan.index_space, whose positions are those of plan.index_shape. Waits.
Status scan(Machine& machine, const Plan& plan, const Buffers& buffers);

// As in core/plan.h. They wait.
std::optional<BadIndex> first_outside(Machine& machine, const Plan& plan, const Buffers& buffers);
std::optional<Duplicate> first_duplicate(Machine& machine, const Plan& plan, const Buffers& buffers);

}  // namespace gs::device
