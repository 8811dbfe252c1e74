// move_points.h: moves points that do not depend on each other, on any number of threads.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// Runs a prepared job whose points have different targets.
Outcome move_points(Run run, const Tuning& tuning, const Plan& plan, const Job& job, const RunOptions& options);

// Runs a plan whose form is short_move, or a scatter that is_short_scatter (plan_form.h): in ascending order.
Outcome move_short(Run run, const Plan& plan, const Buffers& buffers, Direction direction);

}  // namespace gs::cpu
