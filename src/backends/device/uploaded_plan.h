// uploaded_plan.h: packs a plan and its buffers into the form that kernels read, for launches within a scope.
#pragma once

#include <optional>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/machine.h"

namespace gs::device {

// A packed plan over one of the plan's spaces.
class UploadedPlan {
 public:
  UploadedPlan(Machine& machine, const Plan& plan, const Buffers& buffers)
      : UploadedPlan(machine, plan, plan.space, buffers) {}
  UploadedPlan(Machine& machine, const Plan& plan, const Space& space, const Buffers& buffers);
  const PackedPlan& operator*() const { return table_; }
  const PackedPlan* operator->() const { return &table_; }

 private:
  PackedPlan table_;
  std::optional<Temporary> far_;  // the words of a plan that is too long for the parameters of a kernel
};

}  // namespace gs::device
