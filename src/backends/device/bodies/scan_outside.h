// scan_outside.h: the body that checks every index of a plan without moving anything.
#pragma once

#include <cstdint>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// Reports the points with a bad index. `table` is the plan packed over its index space.
struct ScanOutside {
  static constexpr const char* kName = "scan";
  static constexpr uint64_t kVariant = 0;

  PackedPlan table = {};
  Status* status = nullptr;

  GS_HD void operator()(Thread thread) const {
    for (int64_t flat = thread.number; flat < table.count; flat += thread.count) {
      PointState spot = table.look(flat);
      if (!table.settle(flat, spot)) status->report(flat);
    }
  }
};

}  // namespace gs::device
