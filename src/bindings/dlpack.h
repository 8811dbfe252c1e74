// dlpack.h: arrays of other libraries in and out: capsules, and torch's exchange table.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/dlpack_abi.h"
#include "bindings/torch_memory.h"
#include "core/array_view.h"

namespace gs {
struct ElementType;  // from_python.h
}

namespace gs::dlpack {

namespace py = pybind11;

// The most that an array may have where a producer describes it. ExchangeError for more.
inline constexpr int kMaxDimensions = 64;
void check_dimensions(const char* what, int64_t rank);

// Checks what a producer declares before anything of it is followed; ExchangeError, DTypeError or ShapeError otherwise.
ArrayView checked_view(const Tensor& tensor, bool subbyte_padded);

std::string dtype_name(DataType dtype);  // "float32", "bfloat16", ..

inline constexpr bool is_host(Device device) {
  return device.type == kCpu || device.type == kCudaHost || device.type == kCudaManaged;
}
inline constexpr uintptr_t kLegacyStream = 1;  // CUDA's default stream, by the number that needs no context

// Memory on a GPU. It goes back in the order of a stream, once those that were given it have used it.
struct StreamMemory {
  StreamMemory(int number, uintptr_t handle, int64_t bytes);
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory();
  int device;
  uintptr_t stream;
  std::vector<uintptr_t> consumers;  // streams of those it was exported to
  std::byte* data;
};

// An array that either another library lent us or we own; speaks the Python protocol of DLPack.
class ExchangedArray {
 public:
  // Takes over the tensor inside a capsule ("dltensor" or "dltensor_versioned") after checking it. Memory of a GPU is
  // for those who ask for it.
  static ExchangedArray from_capsule(py::handle capsule, bool on_device);
  // What `__cuda_array_interface__` describes, of a dtype of NumPy's; strides are in bytes. `owner` keeps it alive.
  static ExchangedArray from_interface(py::object owner, uintptr_t data, const Dims& shape,
                                       const std::optional<Dims>& strides, py::object descr, bool writable, int device);
  // Fresh memory of our own: in host memory, or on a GPU in the order of a stream.
  static ExchangedArray allocate(const Dims& shape, DataType dtype, int64_t item);
  static ExchangedArray allocate(const Dims& shape, const ElementType& type, int64_t item, int device,
                                 uintptr_t stream);

  ExchangedArray(ExchangedArray&& other);
  ExchangedArray(const ExchangedArray&) = delete;
  ExchangedArray& operator=(const ExchangedArray&) = delete;
  ~ExchangedArray();

  const ArrayView& view() const { return view_; }
  DataType dtype() const { return dtype_; }
  const py::object& descr() const { return descr_; }  // NumPy's dtype, where it came with one
  bool writable() const { return writable_; }
  Device device() const { return device_; }
  StreamMemory* device_memory() const { return device_memory_.get(); }  // ours on a GPU, else null

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

// torch, met and never imported: null where the process has not loaded it, or where it is too old for the table.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const ExchangeApi* api = nullptr;
  PyObject* is_neg = nullptr;  // torch.Tensor's methods
  PyObject* is_conj = nullptr;
  PyCFunction is_neg_function = nullptr;       // the same without a call of Python's; null where it is of another kind
  const PyGetSetDef* requires_grad = nullptr;  // likewise
  TorchMemory memory;
  PyObject* forward_mode = nullptr;  // the module torch.autograd.forward_ad
  bool in_forward_mode() const;      // inside a dual level, where a tensor may carry a tangent
  // Neither requires grad nor has a lazy negative bit. False where that is not known without more questions.
  bool is_plain_float(PyObject* object) const;
  bool is_tensor(PyObject* object) const {
    return api != nullptr && (Py_TYPE(object) == tensor || Py_TYPE(object) == parameter);
  }
};
const Torch& torch();

// A tensor over fresh memory: its data pointer is set at once, and it becomes a torch tensor with `to_torch`, which
// takes it.
ManagedTensorVersioned* allocate_tensor(const Dims& shape, DataType dtype, int64_t item);
py::object to_torch(ManagedTensorVersioned* tensor);
// The same on a GPU, by torch's own allocator for the stream that is current there; that stream.
ManagedTensorVersioned* allocate_torch(const Dims& shape, DataType dtype, int device);
uintptr_t torch_stream(int device);

// Tells torch that the memory of a tensor was written to behind its back.
void mark_written(py::handle tensor);

}  // namespace gs::dlpack
