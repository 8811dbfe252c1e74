// arguments.h: declares how the Python arguments of an operator become operands, views and plans.
#pragma once

#include "bindings/arguments/operands.h"
#include "calls/views.h"

namespace gs {

// Adopts all arguments, chooses the device, then borrows all arguments.
void adopt_all(const OperatorRequest& request, const RawOperands& raw, Operands& operands);
// Sets the type of number of a reduction. DTypeError if the reduction does not support the input's dtype.
void set_number(Request& request, const Operands& operands);

Views views_of(const Operands& operands);
// The plan of calls/make_plan.h for the operands of a call, whose direction is that of the request. DTypeError if the
// `out` of a gather has items of another size.
Plan plan_for(const Request& request, const Operands& operands, const Views& views);
Plan plan_for(const Request& request, const Operands& operands);

}  // namespace gs
