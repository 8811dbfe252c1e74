// move_points.h: moves points that do not depend on each other, on any number of threads.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// Runs a prepared job whose points have different targets, in the work chunks of `cut`.
Outcome move_points(const Kernels& kernels, const Job& job, const Cut& cut, bool (*interrupted)());

// Runs a plan whose form is short_move (schedule.h), in ascending order.
Outcome move_short(const Kernels& kernels, const Plan& plan, const Buffers& buffers, Direction direction);

}  // namespace gs::cpu
