// disjoint_rows.h: scatters whose points are shared by position, as if no two of them had the same target.
#pragma once

#include "backends/cpu/cpu_backend.h"

namespace gs::cpu {

struct DisjointRows {
  Outcome outcome = Outcome::done;
  bool yes = false;  // no: two points have met, or trying would not pay
};

// Writes every unit to its target, and marks the target: that is how it is known in the end whether two points have
// met. If so, some targets may hold any of their values, and all is to be done again in order. With a base, which is to
// be as long as what the plan can reach, what no point wrote to comes from there.
DisjointRows scatter_apart(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                           const RunOptions& options);

// Copies all of the base.
Outcome copy_base(Run run, const Tuning& tuning, const Buffers& buffers, const RunOptions& options);

}  // namespace gs::cpu
