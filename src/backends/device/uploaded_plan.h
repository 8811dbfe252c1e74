// uploaded_plan.h: packs a plan and its memory into the form that kernels read, for launches in the time of a scope.
#pragma once

#include <optional>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/machine.h"

namespace gs::device {

// The table of a plan over one of its spaces, for launches in the time of a scope.
class UploadedPlan {
 public:
  UploadedPlan(Machine& machine, const Plan& plan, const Buffers& buffers)
      : UploadedPlan(machine, plan, plan.space, buffers) {}
  UploadedPlan(Machine& machine, const Plan& plan, const Space& space, const Buffers& buffers);
  const PackedPlan& operator*() const { return table_; }
  const PackedPlan* operator->() const { return &table_; }

 private:
  PackedPlan table_;
  std::optional<Temporary> far_;
};

}  // namespace gs::device
