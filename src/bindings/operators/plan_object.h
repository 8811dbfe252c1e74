// plan_object.h: declares plans as Python objects: a geometry that is checked once and run repeatedly on new data.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "bindings/operators/lane_call.h"
#include "bindings/operators/plan_state.h"
#include "bindings/operators/small_call.h"

namespace gs {

// The C++ class of `_core.Plan`.
class PlanObject {
 public:
  PlanObject(const OperatorRequest& request, const Plan& plan, const Operands& operands);

  py::object call(py::handle input, py::handle indices, py::handle source, py::handle mask, py::handle out) const;
  // Like `call`, for plain arrays of exactly the planned geometry. Declines every call that is not a small gather.
  LaneResult run_small(const LaneCall& call) const;
  // Runs the geometry as a scatter, for the plan of a gather or of a scatter.
  py::object scatter(const Combine& combine, Duplicates duplicates, const RawOperands& raw) const;
  py::object run_by_torch(const RawOperands& raw, const py::object& words) const;
  py::dict to_dict() const;
  py::dict state() const;
  static PlanObject restored(const py::dict& state);
  bool equals(const PlanObject& other) const;
  py::ssize_t hash() const;

 private:
  PlanObject() = default;
  void prepare_small_call();
  LaneResult run_by_torch_lane(const LaneCall& call) const;
  void check(const Operands& operands) const;
  void check_indices(const Operands& operands) const;
  std::vector<IndexType> index_types() const {
    std::vector<IndexType> types;
    for (const Signature& index : parts_.indices) types.push_back(index.index_type);
    return types;
  }

  PlanParts parts_;
  Plan plan_;
  Geometry geometry_;
  SmallCall small_;  // empty if small_call does not support the plan
};

void bind_plan(py::module_& module);
py::object make_plan_object(const OperatorRequest& request, const Plan& plan, const Operands& operands);

}  // namespace gs
