// gil.h: giving the interpreter lock away and taking it back, also while the interpreter shuts down.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace gs {

// At exit, Python before 3.14 ends every other thread that asks for the lock by unwinding its stack, which would run
// through destructors that need the lock and functions that do not throw. Such a thread waits here for the end of the
// process.
template <class Take>
auto take_lock(Take take) {
  try {
    return take();
  } catch (...) {  // no exception of ours: the unwinding, which has no name that is the same everywhere
    for (;;) pause();
  }
}

class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    take_lock([this] {
      PyEval_RestoreThread(state_);
      return true;
    });
  }

 private:
  PyThreadState* state_;
};

}  // namespace gs
