// plan_form.h: decides in which form the CPU backend runs a plan. Calls, small calls and explain use this decision
// for every plan whose points have different targets; for others parallel_scatter.cpp decides, unless they are short.
#pragma once

#include "backends/cpu/form.h"

namespace gs::cpu {

// The form of a plan that moves as one: of a gather, or of a scatter whose points have different targets.
Form form_of(const Plan& plan, const Tuning& tuning, Direction direction);

// The same decision for a plan that is walked as it is, whose job is prepared already.
Form form_of(const Plan& plan, const Tuning& tuning, Direction direction, const Job& job);

// Whether a scatter moves a few small units along one axis under the default rule; two of them may have one target.
bool is_short_scatter(const Plan& plan, const Tuning& tuning);

}  // namespace gs::cpu
