// sorted_points.h: sorts the points of a scatter by their targets.
#pragma once

#include "backends/device/bodies/scatter_bodies.h"
#include "backends/device/machine.h"
#include "backends/device/uploaded_plan.h"
#include "core/plan.h"

namespace gs::device {

// The slots of all units that the plan may reach.
Slots slots_of(const Plan& plan);

// Holds the sorted points in temporary memory, for launches within a scope.
class SortedPoints {
 public:
  SortedPoints(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status);
  const PackedPlan& table() const { return *table_; }
  const Slots& slots() const { return slots_; }
  const Sorted& sorted() const { return sorted_; }

 private:
  UploadedPlan table_;
  Slots slots_;
  Temporary keys_;
  Temporary points_;
  Sorted sorted_;
};

}  // namespace gs::device
