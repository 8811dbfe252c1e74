// device_call.h: where the arrays of one call lie, and who serves it there: the host's backend, or a queue over one
// stream of a GPU.
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

// What is known of an operand that is not plain host memory.
struct DeviceLocation {
  dlpack::Device device{};
  py::object lent;                  // gatherscatter._device.Lent, for all but torch's tensors
  std::optional<uintptr_t> stream;  // in whose order its memory is used; none: its library handed it to the call's
  bool is_copy = false;             // of a host array
  std::shared_ptr<dlpack::StreamMemory> copy;  // its memory, where that outlives the call
};

// What a call that did not wait leaves to be asked later.
struct DeferredCheck {
  std::unique_ptr<device::Receipt> receipt;
  Plan plan;
  Buffers buffers;
  bool turned = false;  // it ran with its points in the opposite order
};

// One stream of a GPU for the time of a call.
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
  // What is asked for next comes after all work in that stream, and `leave` makes that stream wait for it.
  void come_after(uintptr_t stream);
  void release_streams();
  std::optional<DeferredCheck> late;  // under Bounds::deferred
  bool knows_of_end = false;          // the last launch has been waited for
  // Memory for the time of the call.
  std::byte* temporary(int64_t bytes);
  // Throws where the stream is being captured into a graph.
  void must_not_capture(const char* what) const;

 private:
  int device_;
  uintptr_t stream_;
  device::Queue queue_;
  std::vector<std::unique_ptr<device::Temporary>> temporaries_;
  std::vector<uintptr_t> others_;
  bool at_work_ = false;
};

// Who runs device kernels for this process, loaded when it is first needed. DTypeError where there is none.
const Devices& loaded_devices();

// Decides where the call is served, after its arguments were adopted and before they are borrowed. Raises errors of
// earlier calls on a GPU. Host arrays pay one look at each operand.
void choose_device(Operands& operands);
// Before the first launch: streams wait for each other, and host indices, masks and values are copied over. True where
// that changed the strides that a plan was made for.
bool copy_host_operands(const Request& request, Operands& operands);
// After the last one: other streams may go on, and what is still in use stays alive.
void release_streams(const Request& request, const Operands& operands);

// A copy of the fill value in host memory that nobody else can change, as items without a dtype: its bytes are what is
// moved, and pickling may not turn their order round. Waits for one on a GPU.
Operand own_fill(const Operands& operands);

const Backend& backend_of(const Operands& operands);
// Whether the call leaves without knowing of its indices.
bool defers(const Operands& operands, const Plan& plan);
// Throws where the call has to wait and must not.
void check_may_wait(const Operands& operands, const Plan& plan);
// Whose library the result belongs to.
const Operand& maker_of(const Operands& operands);

// Has a library make an array on a GPU: the object and the address of its memory.
std::pair<py::object, std::byte*> make_array_there(const py::object& lent, const ElementType& type, const Dims& shape);

}  // namespace gs
