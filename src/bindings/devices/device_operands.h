// device_operands.h: declares how the operands of a call come to one device and are released by it.
#pragma once

#include "bindings/arguments/operands.h"
#include "bindings/devices/device_call.h"
#include "bindings/devices/device_location.h"
#include "calls/call_result.h"

namespace gs {

// Chooses the device and the stream of a call, after its arguments were adopted and before they are borrowed. Raises
// errors of earlier calls on a GPU. A call on host arrays costs one check of each operand.
void choose_device(Operands& operands);
// Called before the first launch: makes the call's stream wait for those of the operands, and copies host indices,
// masks and values to the device. Returns whether that changed strides that a plan was made for.
bool copy_host_operands(const Request& request, Operands& operands);
// Called after the last launch: makes the operands' streams wait for the call's, and keeps memory that is still in use.
void release_streams(const OperatorRequest& request, const Operands& operands, CallResult&& result);

// A private copy of the fill value in host memory. Its items have no dtype, because only the bytes are moved and
// pickling must not change the byte order. Waits for the GPU if the fill value is there.
Operand own_fill(const Operands& operands);

// The operand whose library allocates the result.
const Operand& prototype_of(const Operands& operands);

}  // namespace gs
