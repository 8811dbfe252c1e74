// run.cpp: runs one call of an operator: adopts and borrows the arguments, makes the plan and executes it.
#include "bindings/run.h"

#include "bindings/arguments.h"
#include "bindings/big_integers.h"
#include "bindings/device_operands.h"
#include "bindings/execute.h"
#include "bindings/plan_object.h"
#include "core/error.h"

namespace gs {

py::object run(OperatorRequest request, const RawOperands& raw) {
  const bool plan_only = consume_planning();
  try {
    Operands operands;
    adopt_all(request, raw, operands);
    if (request.direction == Direction::scatter) {
      set_number(request, operands);
      if (plan_only) return make_plan_object(request, make_scatter_plan(request, operands), operands);
      resolve_wide(request, operands);
      return execute_scatter(request, operands, nullptr);
    }
    if (!plan_only) resolve_wide(request, operands);
    Plan plan = make_plan(request, operands);
    if (plan_only) return make_plan_object(request, plan, operands);
    if (copy_host_operands(request, operands)) plan = make_plan(request, operands);
    return execute_gather(request, plan, operands);
  } catch (...) {
    if (plan_only) request_plan();  // if the operator calls again with other arguments, it must return a plan
    throw;
  }
}

py::object run_plain(const OperatorRequest& request, py::handle input, py::handle index) {
  Operands operands;
  adopt(request.op, Role::data, input, operands.input);
  operands.indices.resize(1);
  adopt(request.op, Role::index, index, operands.indices[0]);
  choose_device(operands);
  borrow(Role::data, operands.input);
  if (operands.input.view.rank() == 0) throw ShapeError("the input is a scalar");
  borrow(Role::index, operands.indices[0]);
  Plan plan = make_plan(request, operands);
  if (is_planning()) {
    consume_planning();
    return make_plan_object(request, plan, operands);
  }
  if (copy_host_operands(request, operands)) plan = make_plan(request, operands);
  if (plan.index[0].extent == 0) throw ShapeError("the axis is empty");
  return execute_gather(request, plan, operands);
}

}  // namespace gs
