// python_context.h: runs the work of a call without the GIL, with Python's signals and the thread limits of the
// context.
#pragma once

#include <memory>
#include <vector>

#include "bindings/devices/device_call.h"
#include "bindings/progress_reports.h"
#include "calls/call_context.h"

namespace gs {

namespace py = pybind11;

// Whether a signal handler has raised an exception. Backends poll it on the calling thread, which does not hold the
// GIL.
bool interrupted();
// Whether the current call of this thread was interrupted: a signal handler has raised an exception, which is thrown
// once the thread holds the GIL again.
bool& signalled();

// The context of one call from Python, on the host or on a GPU. After an interrupt, Python's exception is set, and the
// caller of this context throws it.
class PythonContext final : public CallContext {
 public:
  explicit PythonContext(std::shared_ptr<DeviceCall> call = nullptr, Stage stage = Stage::whole)
      : call_(std::move(call)), stage_(stage) {}
  PythonContext(const PythonContext&) = delete;
  PythonContext& operator=(const PythonContext&) = delete;
  ~PythonContext() override;

  const Backend& backend() const override;
  bool is_interrupted() const override { return signalled(); }
  void about_to_wait(const char* reason) override;
  std::byte* allocate(int64_t bytes) override;

 private:
  void run_erased(Lock lock, void (*work)(void*, const RunOptions&), void* context) override;
  std::shared_ptr<DeviceCall> call_;  // null: the host
  std::vector<std::byte*> host_memory_;
  Stage stage_;
};

// Runs work(options) on the host, with or without the GIL. Throws the exception that a signal handler has raised
// meanwhile.
template <class Work>
void run_work(bool keep_lock, Work&& work, Stage stage = Stage::whole) {
  PythonContext(nullptr, stage).run(keep_lock ? Lock::kept : Lock::released, work);
  if (signalled()) throw py::error_already_set();
}

}  // namespace gs
