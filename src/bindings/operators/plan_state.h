// plan_state.h: defines the pickled state of a plan: a dict of names and words, with a version.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "bindings/arguments/operands.h"
#include "bindings/operators/signature.h"

namespace gs {

// All that a plan is made of, without the memory of the call that it was made for.
struct PlanParts {
  OperatorRequest request;
  Signature input, mask, out, source;
  std::vector<Signature> indices;
  Operand fill;
  int device = -1;  // GPU of the arrays that the plan was made for; -1: the host

  bool takes_tuple() const { return request.planner == Planner::at_points && !request.coordinates; }
  Operands operands() const;  // without memory, except that of the fill value
};

// Increase it when the names or their meaning change.
inline constexpr int kPlanStateVersion = 2;

py::dict to_state(const PlanParts& parts);

// Validates all that memory accesses depend on, because a pickled state is not trusted. ValueError for a state of
// another version and for an invalid one.
PlanParts from_state(const py::dict& state);

// The words for the enumerators, as users write them.
const char* name_of(Planner planner);
const char* name_of(Bounds bounds);
const char* name_of(Negative negative);
const char* name_of(Reduce reduce);
const char* name_of(Duplicates duplicates);

}  // namespace gs
