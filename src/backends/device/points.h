// points.h: the body for plans whose tables are too long to be parameters: point by point, from tables in memory.
#pragma once

#include <cstdint>

#include "backends/device/thread.h"
#include "core/point.h"

namespace gs::device {

struct MovePoints {
  static constexpr const char* kName = "points";
  static constexpr uint64_t kVariant = 0;

  PlanView plan;  // its tables lie where kernels reach them
  Direction direction = Direction::gather;
  Status* status = nullptr;  // null: the rule forbids nothing

  GS_HD void operator()(Thread thread) const {
    for (int64_t flat = thread.number; flat < plan.count; flat += thread.count) {
      if (!move_point(plan, direction, flat) && status != nullptr) status->report(flat);
    }
  }
};

}  // namespace gs::device
