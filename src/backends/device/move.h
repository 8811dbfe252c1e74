// move.h: turns a move into launches: chooses the bodies, divides the work and allocates the temporaries.
#pragma once

#include <string>

#include "backends/device/machine.h"
#include "core/plan.h"

namespace gs::device {

// Submits the move. At points with a bad index nothing is written; they are reported to `status`, which may be null if
// the rule forbids nothing.
void move(Machine& machine, const Plan& plan, const Buffers& buffers, Direction direction, Status* status);

// The name of the kernel body that `move` would run.
std::string kernel_name(const Plan& plan, Direction direction);

}  // namespace gs::device
