// big_integers.h: indices in lists that no integer dtype holds. Such an operand holds int64 that lie outside of every
// axis on the same side, and beside them all values as they were written (gatherscatter._wide).
#pragma once

#include "bindings/run.h"

namespace gs {

// Integers that were written down have no dtype of their own: they get the one that a plan was made for.
py::object as_planned(const Request& request, py::handle indices, const std::vector<IndexType>& types);

bool has_wide(const Operands& operands);

// Before a call runs: where values wrap, their positions take the places of those beyond 64 bits. DTypeError where the
// caller vouches for them. They were in host memory, so an error need not be deferred.
void settle_wide(Request& request, Operands& operands);

// The value of a bad index as it was written; null where its array says it in full.
py::object full_value(const Request& request, const Operands& operands, const Plan& plan, const BadIndex& bad);

// Puts the value as it was written into an OutOfBoundsError of a map, and raises it again.
[[noreturn]] void raise_in_full(py::error_already_set& error, const py::object& values);

}  // namespace gs
