// small_move.h: declares moves of so few points that deciding how to run them would take longer than the move.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// A move whose decisions are made; index array a begins a * index_distance bytes after the first. Null if threads or
// tiles may pay, there is nothing to move, an axis has no positions, or the plan has a mask, a fill rule or no index
// array.
std::unique_ptr<SmallMove> small_move_with(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                                           int64_t index_distance);

}  // namespace gs::cpu
