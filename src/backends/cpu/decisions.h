// decisions.h: lists the decisions about a plan, for explain.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu {

// Every decision comes from the functions that run the plan. Addresses are not known, and are taken to be aligned.
std::vector<Decision> decisions_of(const Tuning& tuning, const Plan& plan, Direction direction, const Combine& combine,
                                   int available);

}  // namespace gs::cpu
