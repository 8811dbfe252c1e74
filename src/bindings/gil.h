// gil.h: giving the interpreter lock away and taking it back, also while the interpreter shuts down.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace gs {

// At exit, Python before 3.14 ends every other thread that asks for the lock by unwinding its stack, which would run
// through destructors that need the lock and functions that do not throw. Such a thread waits here for the end of the
// process.
[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

template <class Take>
auto take_lock(Take take) {
  try {
    return take();
  } catch (...) {  // no exception of ours: the unwinding, which has no name that is the same everywhere
    wait_for_the_end();
  }
}

// Calls a function of Python's C API that may run Python code, from a frame with references that must not be given up
// without the lock: should the thread be ended in there, it waits here, before that frame is unwound.
template <class Call>
PyObject* call_python(Call call) {
  return take_lock(call);
}

// While one lives, the lock is another thread's.
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

  // Runs body with the lock, inside of the innermost Unlocked of this thread. Not by PyGILState_Ensure, which must not
  // be called any more once the interpreter has been taken down.
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
    take_lock([this] {
      PyEval_RestoreThread(state_);
      return true;
    });
  }

  static inline thread_local Unlocked* current = nullptr;
  Unlocked* outer_;
  PyThreadState* state_;
};

}  // namespace gs
