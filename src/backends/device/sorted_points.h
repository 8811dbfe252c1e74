// sorted_points.h: the points of a scatter in the order of their targets.
#pragma once

#include "backends/device/machine.h"
#include "backends/device/scatter.h"
#include "core/plan.h"

namespace gs::device {

// In temporary memory, for launches in the time of a scope.
class SortedPoints {
 public:
  SortedPoints(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status);
  const Table& table() const { return *table_; }
  const Slots& slots() const { return slots_; }
  const Sorted& sorted() const { return sorted_; }

 private:
  PlanTable table_;
  Slots slots_;
  Temporary keys_;
  Temporary points_;
  Sorted sorted_;
};

}  // namespace gs::device
