// gil.h: releases and reacquires the GIL, also while the interpreter shuts down.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace gs {

// At exit, Python before 3.14 terminates every other thread that tries to acquire the GIL, by unwinding its stack. The
// unwinding would run destructors that need the GIL, and would pass through noexcept functions. Such a thread waits
// here until the process ends.
[[noreturn]] inline void wait_for_process_exit() {
  for (;;) pause();
}

template <class Acquire>
auto acquire_gil(Acquire acquire) {
  try {
    return acquire();
  } catch (...) {  // not a C++ exception: the unwinding, whose type has no portable name
    wait_for_process_exit();
  }
}

// Calls a function of Python's C API that may run Python code, from a frame with references that must not be released
// without the GIL. If the thread is terminated inside the call, it waits here, before that frame is unwound.
template <class Call>
PyObject* call_python(Call call) {
  return acquire_gil(call);
}

// Releases the GIL for the duration of a scope.
class Unlocked {
 public:
  Unlocked() : outer_(current) {
    state_ = PyEval_SaveThread();
    current = this;
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    restore();
    current = outer_;
  }

  // Runs body with the GIL, inside the innermost Unlocked of this thread. PyGILState_Ensure is not used, because it
  // must not be called after the interpreter has been finalized.
  template <class Body>
  static auto locked(Body body) {
    Unlocked* self = current;
    self->restore();
    const auto answer = body();
    self->state_ = PyEval_SaveThread();
    current = self;
    return answer;
  }

 private:
  void restore() {
    acquire_gil([this] {
      PyEval_RestoreThread(state_);
      return true;
    });
  }

  static inline thread_local Unlocked* current = nullptr;
  Unlocked* outer_;
  PyThreadState* state_;
};

}  // namespace gs
