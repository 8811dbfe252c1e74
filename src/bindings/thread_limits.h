// thread_limits.h: declares how many threads a call may use: limits of `with` blocks, of the process, of the
// processors.
#pragma once

#include <pybind11/pybind11.h>

#include "host/thread_count.h"

namespace gs {

// The threads of a call in this context: the limit of the innermost open block, else the number set for the process,
// else the number of processors that this thread may use. Needs the GIL; the returned object does not.
ThreadCount thread_count();
// The same without the blocks, for callers that have no context. Needs no GIL.
ThreadCount process_thread_count();
void set_thread_count(int count);
// The context variable of the thread limits: a tuple with one list for each block that was entered, innermost last. The
// list holds the limit of the block while the block is open, and is empty afterwards.
pybind11::object thread_limits();

}  // namespace gs
