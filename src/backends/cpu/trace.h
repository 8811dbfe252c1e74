// trace.h: the steps that a call really takes, written down where they are taken. Only the test that compares calls
// with tests_cpp/backends/cpu/golden.txt compiles it in, with the sources that take the steps.
#pragma once

#include "backends/cpu/kernels/job.h"

namespace gs::cpu {

#ifdef GS_TRACE
void trace(const char* step);  // the test defines both; any thread may call them
void trace(const Job& job);
#else
inline void trace(const char*) {}
inline void trace(const Job&) {}
#endif

}  // namespace gs::cpu
