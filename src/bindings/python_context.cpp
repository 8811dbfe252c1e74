// python_context.cpp: releases the GIL, polls signals and allocates memory for one call from Python.
#include "bindings/python_context.h"

#include "bindings/gil.h"
#include "bindings/progress_reports.h"
#include "bindings/thread_limits.h"
#include "host/affinity.h"

namespace gs {
namespace {

thread_local bool was_signalled = false;

}  // namespace

bool& signalled() {
  return was_signalled;
}

bool interrupted() {
  // PyErr_CheckSignals reports a signal only once, so the answer is kept.
  if (!was_signalled) was_signalled = Unlocked::locked([] { return !check_signals() || !report_progress(); });
  return was_signalled;
}

PythonContext::~PythonContext() {
  for (std::byte* memory : host_memory_) host_backend().release(memory);
}

const Backend& PythonContext::backend() const {
  if (call_) return call_->queue();
  return host_backend();
}

void PythonContext::about_to_wait(const char* reason) {
  if (call_) call_->must_not_capture(reason);
}

std::byte* PythonContext::allocate(int64_t bytes) {
  if (call_) return call_->lasting(bytes);
  host_memory_.reserve(host_memory_.size() + 1);
  host_memory_.push_back(host_backend().allocate(bytes));
  return host_memory_.back();
}

void PythonContext::run_erased(Lock lock, void (*work)(void*, const RunOptions&), void* context) {
  RunOptions options;
  options.threads = thread_count();
  was_signalled = false;
  if (lock == Lock::kept) {
    if (stage_ == Stage::read_map) begin_progress(stage_);
    return work(context, options);
  }
  if (lock == Lock::released) options.interrupted = interrupted;
  begin_progress(stage_);
  {
    const Unlocked unlocked;
    const host::AffinityScope affinity;
    work(context, options);
  }
  if (!was_signalled) was_signalled = !end_progress(stage_);
}

}  // namespace gs
