// call_context.h: declares what a call needs from its surroundings: a backend, a lock, interrupts and memory.
#pragma once

#include <type_traits>

#include "backends/backend.h"

namespace gs {

// How a part of a call runs. The bindings hold the GIL; a test may hold nothing.
enum class Lock : uint8_t {
  kept,           // for work that takes less time than a release of the lock; it cannot be interrupted
  released,       // the work polls for interrupts
  released_only,  // released, but the work runs to its end
};

// The option that makes a call wait for its backend, for CallContext::about_to_wait.
inline constexpr const char* kBoundsRaise = "bounds='raise' (instead of 'deferred')";

class CallContext {
 public:
  virtual ~CallContext() = default;

  // The backend that can access the views of the call.
  virtual const Backend& backend() const = 0;

  // Runs work(options) once, with the number of threads of this call.
  template <class Work>
  void run(Lock lock, Work&& work) {
    run_erased(
        lock,
        [](void* context, const RunOptions& options) {
          (*static_cast<std::remove_reference_t<Work>*>(context))(options);
        },
        &work);
  }
  // Whether a poll of the current `run` has answered that the call must stop.
  virtual bool is_interrupted() const = 0;

  // Called before the call waits for its backend. Throws if it must not wait; `reason` names the option that needs it.
  virtual void about_to_wait(const char* reason) = 0;

  // Memory that the backend can access. It lives until the call ends and its deferred check, if any, has been read.
  virtual std::byte* allocate(int64_t bytes) = 0;

 private:
  virtual void run_erased(Lock lock, void (*work)(void*, const RunOptions&), void* context) = 0;
};

}  // namespace gs
