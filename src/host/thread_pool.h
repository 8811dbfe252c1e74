// thread_pool.h: shares the chunks of one task between the calling thread and a few helpers that are kept ready.
#pragma once

#include <cstdint>

#include "host/interrupt_poller.h"

namespace gs::host {

// Chunks are independent of each other and may run in any order on any thread. The functions may throw std::bad_alloc
// and nothing else; `run_task` then throws it, after everybody has stopped.
struct Task {
  int64_t chunks = 0;                                   // at most 2^31
  bool (*run)(void* context, int64_t chunk) = nullptr;  // false: the chunks that nobody has begun are dropped
  void* context = nullptr;
  InterruptPoller* poller = nullptr;  // asked on the calling thread between chunks; to stop is as false above
};

// Runs the task on the calling thread and up to threads - 1 helpers; true if every chunk ran and returned true. When it
// returns, nobody works on the task any more.
//
// Helpers claim chunks; the caller claims as well and waits only for chunks that a helper has begun, never for a helper
// that has not woken up. One task has the helpers at a time: whoever finds them busy works alone. A forked child starts
// with no helpers and makes its own. Helpers run on the processors that the caller may use.
bool run_task(int threads, const Task& task);

}  // namespace gs::host
