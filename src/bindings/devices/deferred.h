// deferred.h: declares the deferred checks: errors of calls that returned before their indices were checked.
#pragma once

#include "bindings/arguments/operands.h"
#include "calls/deferred_check.h"

namespace gs {

// Keeps the operands and the deferred check of a call until its receipt has been read.
void add_deferred_check(const OperatorRequest& request, const Operands& operands, DeferredCheck&& check);
// Keeps the operands alive until all work enqueued so far is done. This is needed if their library does not track
// that a stream uses them.
void keep_until_done(const Operands& operands);

// Reads the receipts that are ready and raises the first error among them. `all` also waits for the receipts that are
// not ready. `device` restricts this to one device; -1 means all devices.
void raise_deferred(bool all, int device = -1);
std::size_t pending_calls();

}  // namespace gs
