// move.h: a plan becomes launches: which bodies, on how much work, with which temporaries.
#pragma once

#include <string>

#include "backends/device/machine.h"
#include "core/plan.h"

namespace gs::device {

// Asks for the move. Bad points, where nothing is written, are reported to `status`, which may be null if the rule
// forbids nothing.
void move(Machine& machine, const Plan& plan, const Buffers& buffers, Direction direction, Status* status);

// The name of the body that `move` would run.
std::string kernel_name(const Plan& plan, Direction direction);

}  // namespace gs::device
