// disjoint_rows.h: scatters on several threads that each take a range of points, as if there were no duplicates.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

struct DisjointRows {
  Outcome outcome = Outcome::done;
  bool disjoint = false;  // false: there are duplicates, or the attempt would not pay
};

// Writes every unit to its target and marks the target in a bitmap, which shows in the end whether there were
// duplicates. If so, a target with duplicates may hold any of their values, and the caller must repeat the whole
// scatter in order. If there is a base, targets that no point wrote are copied from it. Its length must be the span of
// the indexed side.
DisjointRows scatter_apart(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                           const RunOptions& options);

// Copies the whole base to the indexed side.
Outcome copy_base(Run run, const Tuning& tuning, const Buffers& buffers, const RunOptions& options);

}  // namespace gs::cpu
