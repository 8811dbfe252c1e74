// deferred.h: errors of calls that did not wait for their indices, and what such calls keep alive.
#pragma once

#include "bindings/device_call.h"
#include "bindings/run.h"

namespace gs {

// Keeps all of a call until its receipt has been read.
void remember(const Request& request, const Operands& operands);
// Keeps arrays whose library does not see that they are in use until the work so far is done.
void keep_until_done(const Operands& operands);

// Raises the first error among the receipts that are ready; `all` waits for the others too. Of one device, or of any.
void raise_deferred(bool all, int device = -1);
std::size_t pending_calls();

// For `gatherscatter.cuda`.
void bind_device(py::module_& module);

}  // namespace gs
