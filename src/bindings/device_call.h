// device_call.h: determines where the arrays of one call are and which backend runs it: the host backend, or a queue
// over one stream of a GPU.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/device/queue.h"
#include "backends/devices.h"
#include "bindings/from_python.h"

namespace gs {

struct Operands;
struct Request;

// The location of an operand that is not in plain host memory.
struct DeviceLocation {
  dlpack::Device device{};
  py::object adapter;  // gatherscatter._device.DeviceAdapter, for arrays of all libraries but torch
  // The stream that orders the uses of the memory. None: its library has made the stream of the call wait for them.
  std::optional<uintptr_t> stream;
  bool is_copy = false;                        // the memory is a copy of a host array
  std::shared_ptr<dlpack::StreamMemory> copy;  // memory of a private copy that outlives the call
};

// What is needed to read a deferred check later, and to report its error.
struct DeferredCheck {
  std::unique_ptr<device::Receipt> receipt;
  Plan plan;
  Buffers buffers;
  bool is_reversed = false;  // the points ran in reverse order
};

// One stream of a GPU, for the duration of a call.
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
  std::optional<DeferredCheck> deferred_check;  // set under Bounds::deferred
  bool is_synchronized = false;                 // the call has waited for its last launch
  // Memory for the duration of the call.
  std::byte* temporary(int64_t bytes);
  // Throws if the stream is being captured into a CUDA graph; `what` names the operation that cannot be captured.
  void must_not_capture(const char* what) const;

 private:
  int device_;
  uintptr_t stream_;
  device::Queue queue_;
  std::vector<std::unique_ptr<device::Temporary>> temporaries_;
  std::vector<uintptr_t> awaited_streams_;
  bool has_pending_work_ = false;
};

// The module that runs device kernels for this process, loaded at its first use. DTypeError if there is none.
const Devices& loaded_devices();

// Chooses the device and the stream of a call, after its arguments were adopted and before they are borrowed. Raises
// errors of earlier calls on a GPU. A call on host arrays costs one check of each operand.
void choose_device(Operands& operands);
// Called before the first launch: makes the call's stream wait for those of the operands, and copies host indices,
// masks and values to the device. Returns whether that changed strides that a plan was made for.
bool copy_host_operands(const Request& request, Operands& operands);
// Called after the last launch: makes the operands' streams wait for the call's, and keeps memory that is still in use.
void release_streams(const Request& request, const Operands& operands);

// A private copy of the fill value in host memory. Its items have no dtype, because only the bytes are moved and
// pickling must not change the byte order. Waits for the GPU if the fill value is there.
Operand own_fill(const Operands& operands);

// The backend that runs the call.
const Backend& backend_of(const Operands& operands);
// Whether the call returns before its indices have been checked.
bool defers(const Operands& operands, const Plan& plan);
// Throws if the call has to wait for the device while its stream is being captured.
void check_may_wait(const Operands& operands, const Plan& plan);
// The operand whose library allocates the result.
const Operand& prototype_of(const Operands& operands);

// Makes the library of `adapter` allocate an array on its GPU. Returns the array and the address of its memory.
std::pair<py::object, std::byte*> make_array_on_device(const py::object& adapter, const ElementType& type,
                                                       const Dims& shape);

}  // namespace gs
