// scan_outside.h: looks at every index of a plan before anything is moved.
#pragma once

#include <cstdint>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// Reports the points with an index outside; the table is that of the space of the indices.
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
