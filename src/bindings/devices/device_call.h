// device_call.h: holds one stream of a GPU for the duration of a call, with the memory and the streams that it uses.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "backends/device/queue.h"
#include "backends/devices.h"
#include "bindings/arguments/dlpack.h"

namespace gs {

class DeviceCall {
 public:
  DeviceCall(int device, uintptr_t stream);
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;
  ~DeviceCall();

  int device() const { return device_; }
  uintptr_t stream() const { return stream_; }
  const device::Queue& queue();
  device::Machine& machine() const { return queue_.machine(); }
  // Makes the later work of this call wait for all work in `stream`. `release_streams` then makes `stream` wait for the
  // work of this call.
  void wait_for(uintptr_t stream);
  void release_streams();
  // Memory until the next release_streams, and memory for as long as this object exists. The latter is released on the
  // stream of the call, or on the legacy default stream after release_on_default_stream, which is for an object that
  // may live longer than the stream.
  std::byte* temporary(int64_t bytes);
  std::byte* lasting(int64_t bytes);
  void release_on_default_stream();
  // Throws if the stream is being captured into a CUDA graph; `what` names the operation that cannot be captured.
  void must_not_capture(const char* what) const;

 private:
  int device_;
  uintptr_t stream_;
  device::Queue queue_;
  std::vector<std::unique_ptr<device::Temporary>> temporaries_;
  std::vector<std::unique_ptr<dlpack::StreamMemory>> lasting_;
  std::vector<uintptr_t> awaited_streams_;
  bool has_pending_work_ = false;
};

// The module that runs device kernels for this process, loaded at its first use. DTypeError if there is none.
const Devices& loaded_devices();

}  // namespace gs
