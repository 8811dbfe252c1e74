// dlpack.h: imports and exports arrays of other libraries through DLPack capsules and torch's exchange table.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arguments/dlpack_view.h"
#include "bindings/arguments/torch_memory.h"

namespace gs {
class Devices;       // backends/devices.h
struct ElementType;  // bindings/arguments/from_python.h
}  // namespace gs

namespace gs::dlpack {

namespace py = pybind11;

inline constexpr uintptr_t kLegacyStream = 1;  // CUDA's legacy default stream, as a handle that needs no context

// Memory on a GPU. It is released in stream order, after the work of all consumers, by the devices that allocated it:
// tests offer others meanwhile.
struct StreamMemory {
  StreamMemory(int number, uintptr_t handle, int64_t bytes);
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();
  const Devices& devices;
  int device;
  uintptr_t stream;
  std::vector<uintptr_t> consumers;  // streams that the memory was exported to
  std::byte* data;
};

// An array in memory of another library or of our own, with the Python protocol of DLPack.
class ExchangedArray {
 public:
  // Validates the tensor in a capsule ("dltensor" or "dltensor_versioned") and takes ownership of it. Memory of a GPU
  // is accepted only with `on_device`.
  static ExchangedArray from_capsule(py::handle capsule, bool on_device);
  // The array that `__cuda_array_interface__` describes, with a NumPy dtype and strides in bytes. `owner` keeps it
  // alive.
  static ExchangedArray from_interface(py::object owner, uintptr_t data, const Dims& shape,
                                       const std::optional<Dims>& strides, py::object descr, bool writable, int device);
  // Allocates fresh memory: in host memory, or on a GPU in stream order.
  static ExchangedArray allocate(const Dims& shape, DataType dtype, int64_t item);
  static ExchangedArray allocate(const Dims& shape, const ElementType& type, int64_t item, int device,
                                 uintptr_t stream);

  ExchangedArray(ExchangedArray&& other);
  ExchangedArray(const ExchangedArray&) = delete;
  ExchangedArray& operator=(const ExchangedArray&) = delete;
  ~ExchangedArray();

  const ArrayView& view() const { return view_; }
  DataType dtype() const { return dtype_; }
  const py::object& descr() const { return descr_; }  // NumPy dtype; null if the producer gave none
  bool writable() const { return writable_; }
  Device device() const { return device_; }
  StreamMemory* device_memory() const { return device_memory_.get(); }  // null: other memory

 private:
  ExchangedArray() = default;
  ArrayView view_;
  DataType dtype_{};
  Device device_{kCpu, 0};
  bool writable_ = false;
  py::object owner_, descr_;
  std::unique_ptr<StreamMemory> device_memory_;
  ManagedTensor* legacy_ = nullptr;
  ManagedTensorVersioned* versioned_ = nullptr;
  void* memory_ = nullptr;
};

void bind_array(py::module_& module);

// The parts of torch that the binding uses. The binding never imports torch: all members are null until the process has
// imported it, and `api` is null if this version of torch has no exchange table.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const ExchangeApi* api = nullptr;
  PyObject* is_neg = nullptr;  // methods of torch.Tensor
  PyObject* is_conj = nullptr;
  PyCFunction is_neg_function = nullptr;       // the C function of is_neg; null if it has none
  const PyGetSetDef* requires_grad = nullptr;  // the C getter of Tensor.requires_grad; null if it has none
  TorchMemory memory;
  PyObject* forward_mode = nullptr;  // the module torch.autograd.forward_ad
  bool in_forward_mode() const;      // a dual level is open, so a tensor may carry a tangent
  bool (*grad_enabled)() = nullptr;  // whether torch records gradients; null if this version does not tell
  void (*set_grad_enabled)(bool) = nullptr;
  bool in_grad_mode() const { return grad_enabled == nullptr || grad_enabled(); }
  // Whether a mode is active that sees every operation, such as one that traces a graph.
  bool in_dispatch_mode() const;
  bool (*dispatch_mode)() = nullptr;
  PyObject* count_modes = nullptr;  // does the same by a call of Python where `dispatch_mode` is null
  // Whether a tensor has no lazy negative bit, and no gradient that torch records. False also if the C functions cannot
  // decide.
  bool is_plain_float(PyObject* object) const;
  bool is_tensor(PyObject* object) const {
    return api != nullptr && (Py_TYPE(object) == tensor || Py_TYPE(object) == parameter);
  }
};
const Torch& torch();

// Stops torch from recording gradients for the duration of a scope. Does nothing if this version does not tell whether
// it does.
class WithoutGradients {
 public:
  WithoutGradients() : was_enabled_(torch().set_grad_enabled != nullptr && torch().in_grad_mode()) {
    if (was_enabled_) torch().set_grad_enabled(false);
  }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;
  ~WithoutGradients() {
    if (was_enabled_) torch().set_grad_enabled(true);
  }

 private:
  bool was_enabled_;
};

// A DLPack tensor over fresh host memory. Its data pointer is valid at once; `to_torch` takes ownership of it and makes
// a torch tensor of it.
ManagedTensorVersioned* allocate_tensor(const Dims& shape, DataType dtype, int64_t item);
py::object to_torch(ManagedTensorVersioned* tensor);
// A tensor on a GPU, from torch's own allocator for the stream that is current there; torch_stream returns that stream.
ManagedTensorVersioned* allocate_torch(const Dims& shape, DataType dtype, int device);
uintptr_t torch_stream(int device);

// Increments torch's version counter of a tensor, because torch has not seen the write to its memory.
void mark_written(py::handle tensor);

}  // namespace gs::dlpack
