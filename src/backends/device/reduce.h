// reduce.h: a scatter that combines becomes launches.
#pragma once

#include "backends/device/machine.h"
#include "core/combine.h"
#include "core/plan.h"

namespace gs::device {

// Asks for it; as `move` in move.h, and as Backend::reduce.
void reduce(Machine& machine, const Plan& plan, const Buffers& buffers, const Combine& combine, Status* status);

}  // namespace gs::device
