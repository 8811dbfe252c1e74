// plan_object.h: a plan as a Python object: geometry checked once, run again and again on new data of that geometry.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "bindings/run.h"
#include "bindings/small_call.h"

namespace gs {

// Geometry and dtype of an operand, without its memory.
struct Signature {
  Signature() = default;
  explicit Signature(const Operand& operand);
  Operand operand() const;   // one without memory
  PlainArray plain() const;  // likewise; of at most PlainArray::kMaxRank axes
  bool matches(const Operand& other) const;
  std::string text() const;  // "float32 (3, 5)"
  py::object state() const;
  static Signature restored(const py::tuple& state);
  template <class Enum>
  static Enum enumerator(const py::handle& value, Enum last);
  friend bool operator==(const Signature& a, const Signature& b);

  bool given = false;
  Dims extent;
  Dims stride;
  int64_t item = 1;
  ElementType type;
  IndexType index_type = IndexType::i64;
};

class PlanObject {
 public:
  PlanObject(const Request& request, const Plan& plan, const Operands& operands);

  py::object call(py::handle input, py::handle indices, py::handle source, py::handle mask, py::handle out) const;
  // The same for plain arrays of exactly the planned geometry: a new reference, or null without a Python error where
  // the call is not that of a small gather.
  PyObject* small_call(PyObject* input, PyObject* index, PyObject* out) const;
  // The same geometry run as a scatter, whatever direction the plan was made for.
  py::object scatter(const Combine& combine, Duplicates duplicates, const RawOperands& raw) const;
  py::dict to_dict() const;
  py::tuple state() const;
  static PlanObject restored(const py::tuple& state);
  bool equals(const PlanObject& other) const;
  py::ssize_t hash() const;

 private:
  PlanObject() = default;
  void decide();
  void check(const Operands& operands) const;
  void check_indices(const Operands& operands) const;
  std::vector<IndexType> index_types() const {
    std::vector<IndexType> types;
    for (const Signature& index : indices_) types.push_back(index.index_type);
    return types;
  }
  bool takes_tuple() const { return request_.planner == Planner::at_points && !request_.coordinates; }

  Request request_;
  Plan plan_;
  Signature input_, mask_, out_, source_;
  std::vector<Signature> indices_;
  Operand fill_;
  int device_ = -1;  // that it was made on; -1: the host
  Geometry geometry_;
  SmallCall small_;  // empty for all that small_call does not serve
};

void bind_plan(py::module_& module);
py::object make_plan_object(const Request& request, const Plan& plan, const Operands& operands);

// True once for each `plan_of` on this thread: the operator that asks answers with its plan. Calls that its arguments
// make meanwhile are calls.
bool take_planning();
bool is_planning();
void ask_for_plan();

}  // namespace gs
