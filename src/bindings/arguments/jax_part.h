// jax_part.h: tells which arguments make a call one that JAX has to know of.
#pragma once

#include "bindings/arguments/operands.h"

namespace gs {

// Whether an argument is a tracer: it stands for an array inside of a transform of JAX and has no values. Such a call
// goes to gatherscatter._xla.
bool jax_takes_part(const RawOperands& operands);

}  // namespace gs
