// early_check.h: declares the search for bad indices ahead of a gather into fresh memory.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu {

// Bytes: the move of a longer unit takes thirty times as long as its check.
inline constexpr int64_t kEarlyUnit = 256;
inline constexpr int64_t kEarlyFar = 16;  // the same from a source array of so many times `far_bytes`

// What is looked at before the first write of a gather into fresh memory. The move itself finds every bad index, so
// this may only cost a small part of the time of the move.
enum class EarlyCheck {
  nothing,
  lines,  // some cache lines of the indices: nearly certain to find one where one of a hundred indices is bad
  all,    // all indices
};
EarlyCheck early_check(const Plan& plan, const Tuning& tuning);

// Whether the early check of this plan finds a bad index.
bool finds_outside_early(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                         const RunOptions& options);

}  // namespace gs::cpu
