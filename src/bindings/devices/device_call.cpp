// device_call.cpp: orders the work of one call with the streams of its operands, and releases its memory.
#include "bindings/devices/device_call.h"

#include <algorithm>
#include <string>

#include "bindings/arguments/from_python.h"
#include "bindings/python_calls.h"
#include "core/error.h"

namespace gs {

DeviceCall::DeviceCall(int device, uintptr_t stream)
    : device_(device), stream_(stream), queue_(loaded_devices().machine(device, stream)) {}

// If a call ends early, its arrays may be released before the work that it enqueued is done, so this waits for the
// work.
DeviceCall::~DeviceCall() {
  if (!has_pending_work_) return;
  try {
    if (!machine().is_capturing()) machine().synchronize();
  } catch (...) {  // the device has failed, so no work runs on it any more
  }
}

const device::Queue& DeviceCall::queue() {
  has_pending_work_ = true;
  return queue_;
}

std::byte* DeviceCall::temporary(int64_t bytes) {
  has_pending_work_ = true;
  temporaries_.push_back(std::make_unique<device::Temporary>(machine(), bytes));
  return temporaries_.back()->data();
}

std::byte* DeviceCall::lasting(int64_t bytes) {
  has_pending_work_ = true;
  lasting_.push_back(std::make_unique<dlpack::StreamMemory>(device_, stream_, bytes));
  return lasting_.back()->data;
}

void DeviceCall::release_on_default_stream() {
  for (const auto& memory : lasting_) memory->stream = dlpack::kLegacyStream;
}

void DeviceCall::wait_for(uintptr_t stream) {
  if (stream == stream_ ||
      std::find(awaited_streams_.begin(), awaited_streams_.end(), stream) != awaited_streams_.end())
    return;
  machine().wait_for(stream);
  awaited_streams_.push_back(stream);
}

void DeviceCall::release_streams() {
  // Temporary memory is released now and not in the destructor, because that may run after the stream is destroyed.
  temporaries_.clear();
  for (const uintptr_t other : awaited_streams_) machine().go_before(other);
  has_pending_work_ = false;
}

void DeviceCall::must_not_capture(const char* what) const {
  if (!machine().is_capturing()) return;
  throw std::runtime_error("the stream is being captured into a CUDA graph, where " + std::string(what) +
                           " is not possible because it has to wait for the device");
}

const Devices& loaded_devices() {
  if (devices() == nullptr) {
    const py::object why = python::call(python_part("gatherscatter._libraries.devices", "load"));
    if (devices() == nullptr) {
      throw DTypeError("an array lies on a CUDA device, and gatherscatter cannot reach it: " + why.cast<std::string>());
    }
  }
  return *devices();
}

}  // namespace gs
