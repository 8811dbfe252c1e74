// shared_file.h: finds arguments that share bytes of a file with the array to write to by another mapping of that file.
// Their addresses differ, so that overlap.h does not see it.
//
// Memory that NumPy allocated is no file, which costs a look at a flag, and nor is the heap. Other memory under an
// ndarray that is another object's (numpy.memmap, mmap, DLPack) is looked up at each call, but only if two arguments of
// a call have such memory. That of tensors is looked up by the thread's cache (file_mapping.h).
#pragma once

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/plain_array.h"
#include "calls/call_context.h"

namespace gs {

// Whether a small array that is written and one that is read may share bytes of a file.
bool may_share_file(const PlainArray& written, const PlainArray& read);

// Replaces the views of arguments that share bytes of a file with `out`, by another mapping, by private copies. Returns
// whether there is such an argument; its strides have changed then.
bool detach_from_file(CallContext& call, const Operands& operands, Views& views);

}  // namespace gs
