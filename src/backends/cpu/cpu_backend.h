// cpu_backend.h: the CPU backend from within: which kernels there are, and a run with chosen kernels and chosen
// thresholds.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// The kernels of "baseline", "v3" or "v4"; null for a level that this build does not have. Whether the processor has
// it, host::info() knows.
Run kernels(std::string_view level);

// The level that such kernels were compiled for, as they say themselves.
const char* level_of(Run kernels);

// The arithmetic of the same level.
struct Appliers {
  Apply (*units)(const Combine& combine, ApplyStep stage, Keep keep);
  ApplyElements (*elements)(const Combine& combine, ApplyStep stage, Keep keep);
  Sweep (*sweep)(const Combine& combine, ApplyStep stage, Keep keep);
  int64_t (*record_bytes)(const Combine& combine, Keep keep);
};
Appliers appliers_of(Run kernels);
ColumnKernels columns_of(Run kernels);
// Null functions where this level has none for the type and the unit.
ShortGather short_gather_of(Run kernels, IndexType type, int64_t unit);

Outcome move_with(Run kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers, Direction direction,
                  const RunOptions& options);
Outcome reduce_with(Run kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const Combine& combine,
                    const RunOptions& options);
bool any_outside_with(const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options);
std::optional<BadIndex> first_outside_with(const Plan& plan, const Buffers& buffers, const RunOptions& options);

std::unique_ptr<SmallMove> small_move_with(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction);

Outcome parallel_for(const ParallelWork& work, const RunOptions& options);

}  // namespace gs::cpu
