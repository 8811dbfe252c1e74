// check_indices.h: declares the checks of all indices of a plan before anything is moved.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

bool any_outside_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                      const RunOptions& options);
std::optional<BadIndex> first_outside_with(const Plan& plan, const Buffers& buffers, const RunOptions& options);

// As Backend::resolve. With `span_points` (of paying_span_points) other than 0 the check also finds the spans of blocks
// of so many points.
bool resolve_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                  int64_t span_points, const RunOptions& options, std::optional<ResolvedPlan>& resolved);

// The bytes of a position that `resolve_with` keeps for each point; 0 where it keeps none.
int position_bytes(const Plan& plan, const Tuning& tuning, int threads);

// The bytes of all index arrays of a plan.
int64_t index_bytes(const Plan& plan);

}  // namespace gs::cpu
