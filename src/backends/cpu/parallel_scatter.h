// parallel_scatter.h: scatters and reduces on several threads, with results that do not depend on their number.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/tiling.h"

namespace gs::cpu {

// Whether there may be duplicates, so that threads must not take arbitrary ranges of points.
inline bool may_meet(const Plan& plan, Direction direction) {
  return direction == Direction::scatter && !plan.is_one_to_one();
}

// Number of threads that would take part.
int scatter_threads(const Plan& plan, const Tuning& tuning, int available);

// Copies every unit to its target; of duplicates, the last point wins.
Outcome scatter_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                     const RunOptions& options);

// Begins a scatter into fresh memory with a base: see Buffers::base. Returns the outcome of the whole scatter if it
// also ran it, and nothing if the base is copied and the points are still to be moved.
std::optional<Outcome> begin_with_base(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                                       const RunOptions& options);

// Combines the value of every point with its target.
Outcome reduce_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const Combine& combine,
                    const RunOptions& options);

// The tiling by which scatter_with or reduce_with would move the points.
std::optional<Tiling> tiling_of_scatter(const Plan& plan, const Tuning& tuning, const Combine& combine, int available);

// The form in which scatter_with or reduce_with moves the points with so many threads available.
Form form_of_parallel_scatter(Run run, const Plan& plan, const Tuning& tuning, const Combine& combine, int available);

}  // namespace gs::cpu
