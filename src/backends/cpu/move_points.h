// move_points.h: moves points that do not depend on each other, on any number of threads.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// Runs a prepared job whose points have different targets.
Outcome move_points(Run run, const Tuning& tuning, const Plan& plan, const Job& job, const RunOptions& options);

// Runs a plan that is_short (plan_form.h), whose points may have one target.
Outcome move_short(Run run, const Plan& plan, const Buffers& buffers, Direction direction);

}  // namespace gs::cpu
