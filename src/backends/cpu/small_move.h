// small_move.h: declares moves of so few points that deciding how to run them would take longer than the move.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cpu/kernels/level.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {

// A move or a reduction whose decisions are made. Null if threads or tiles may pay, there is nothing to move, an axis
// has no positions, the fill value is more than one item, or the plan has no index array.
std::unique_ptr<SmallMove> small_move_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan,
                                           const SmallRequest& request);

}  // namespace gs::cpu
