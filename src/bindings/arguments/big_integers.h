// big_integers.h: supports indices in Python lists that no integer dtype can hold. The array of such an operand holds
// these values clamped to the limits of int64, which are out of bounds for every axis on the same side; Operand::wide
// holds all values as they were written (gatherscatter._libraries.of_python).
#pragma once

#include <vector>

#include "bindings/arguments/operands.h"

namespace gs {

// Converts indices given as a Python int, list or tuple, which have no dtype of their own, to the dtype that the plan
// was made for. Arrays are returned unchanged.
py::object as_planned(const OperatorRequest& request, py::handle indices, const std::vector<IndexType>& types);

// Whether an index operand has values beyond int64.
bool has_wide(const Operands& operands);

// Prepares values beyond int64 before a call runs. Under Bounds::wrap, each is replaced by the position that it wraps
// to. Under Bounds::unchecked it is a DTypeError, because its clamped value would be used unchecked.
// Bounds::deferred becomes Bounds::raise: the values are in host memory, so their check need not be deferred.
void resolve_wide(Request& request, Operands& operands);

// Returns the value of a bad index as it was written; null if the index array holds the exact value.
py::object value_as_written(const OperatorRequest& request, const Operands& operands, const Plan& plan,
                            const BadIndex& bad);

// Throws `error` again. If it is an OutOfBoundsError of a map and `values` is not null, the bad index in it is replaced
// by the value in `values`, the map as it was written.
[[noreturn]] void raise_with_written_value(py::error_already_set& error, const py::object& values);

}  // namespace gs
