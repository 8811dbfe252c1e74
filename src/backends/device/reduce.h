// reduce.h: turns a scatter that combines into launches.
#pragma once

#include <string>

#include "backends/device/machine.h"
#include "core/combine.h"
#include "core/plan.h"

namespace gs::device {

// Submits the reduction, which is that of Backend::reduce. `status` is used as by `move` in move.h.
void reduce(Machine& machine, const Plan& plan, const Buffers& buffers, const Combine& combine, Status* status);

// The name of the body that `reduce` launches for arrays that are aligned to their items.
std::string kernel_name(const Plan& plan, const Combine& combine);

}  // namespace gs::device
