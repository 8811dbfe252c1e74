// thread_pool.h: runs the work chunks of a task on the calling thread and on helper threads.
#pragma once

#include <cstdint>

#include "host/interrupt_poller.h"

namespace gs::host {

// Work chunks are independent of each other and may run in any order on any thread. The functions may throw
// std::bad_alloc and nothing else; `run_task` then throws it after all threads have stopped.
struct Task {
  int64_t chunks = 0;                                   // number of work chunks, at most 2^31
  bool (*run)(void* context, int64_t chunk) = nullptr;  // false: the work chunks not yet begun are dropped
  void* context = nullptr;
  InterruptPoller* poller = nullptr;  // polled on the calling thread between work chunks; a stop is as false above
};

// Runs the task on the calling thread and up to threads - 1 helpers; true if every work chunk ran and returned true.
// When it returns, no thread works on the task any more.
//
// The caller and the helpers claim work chunks. The caller waits only for work chunks that a helper has begun, never
// for a helper that has not woken up. The helpers run one task at a time: a caller that finds them busy runs its task
// alone. A forked child starts its own helpers. Helpers run on the processors that the caller may use.
bool run_task(int threads, const Task& task);

}  // namespace gs::host
