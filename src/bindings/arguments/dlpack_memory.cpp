// dlpack_memory.cpp: imports, allocates and releases the memory of ExchangedArray, in host memory and on GPUs.
#include <utility>

#include "backends/devices.h"
#include "bindings/arguments/dlpack.h"
#include "bindings/arguments/from_python.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/memory_pool.h"
#include "plans/checks.h"

namespace gs::dlpack {
namespace {

constexpr const char* kLegacyName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

}  // namespace

StreamMemory::StreamMemory(int number, uintptr_t handle, int64_t bytes)
    : devices(*gs::devices()), device(number), stream(handle), data(devices.allocate(number, handle, bytes)) {}

StreamMemory::~StreamMemory() {
  try {
    if (!consumers.empty()) {
      const auto machine = devices.machine(device, stream);
      for (const uintptr_t other : consumers) machine->wait_for(other);
    }
  } catch (...) {  // the device has failed, so no work runs on it any more
  }
  devices.release(device, stream, data);
}

ExchangedArray::ExchangedArray(ExchangedArray&& other)
    : view_(other.view_),
      dtype_(other.dtype_),
      device_(other.device_),
      writable_(other.writable_),
      owner_(std::move(other.owner_)),
      descr_(std::move(other.descr_)),
      device_memory_(std::move(other.device_memory_)),
      legacy_(std::exchange(other.legacy_, nullptr)),
      versioned_(std::exchange(other.versioned_, nullptr)),
      memory_(std::exchange(other.memory_, nullptr)) {}

ExchangedArray::~ExchangedArray() {
  if (legacy_ != nullptr && legacy_->deleter != nullptr) legacy_->deleter(legacy_);
  if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
  if (memory_ != nullptr) host::release(memory_);
}

ExchangedArray ExchangedArray::from_capsule(py::handle capsule, bool on_device) {
  PyObject* object = capsule.ptr();
  ExchangedArray array;
  const auto take = [&](const Tensor& tensor, bool subbyte_padded) {
    check_dimensions("DLPack tensor", tensor.ndim);  // before the shape is read: a wrong rank reads beyond its end
    array.view_ = checked_view(tensor, subbyte_padded);
    if (!is_host(tensor.device) && !on_device) {
      throw ExchangeError("array lies on device type " + std::to_string(tensor.device.type) +
                          ", but its __dlpack_device__ reports another device");
    }
    array.dtype_ = tensor.dtype;
    array.device_ = tensor.device;
  };
  // The capsule is renamed last: until then its own destructor frees the tensor, also if an exception is thrown.
  if (PyCapsule_IsValid(object, kVersionedName)) {
    auto* managed = static_cast<ManagedTensorVersioned*>(PyCapsule_GetPointer(object, kVersionedName));
    if (managed->version.major != 1) {
      throw ExchangeError("DLPack version " + std::to_string(managed->version.major) + "." +
                          std::to_string(managed->version.minor) + " is not supported (expected 1.x)");
    }
    take(managed->tensor, (managed->flags & kFlagSubbytePadded) != 0);
    array.writable_ = (managed->flags & kFlagReadOnly) == 0;
    if (PyCapsule_SetName(object, "used_dltensor_versioned") != 0) throw py::error_already_set();
    array.versioned_ = managed;
  } else if (PyCapsule_IsValid(object, kLegacyName)) {
    auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(object, kLegacyName));
    take(managed->tensor, false);
    array.writable_ = false;  // this struct has no flag for it; NumPy assumes read-only as well
    if (PyCapsule_SetName(object, "used_dltensor") != 0) throw py::error_already_set();
    array.legacy_ = managed;
  } else {
    throw ExchangeError("__dlpack__ did not return an unused DLPack capsule");
  }
  return array;
}

ExchangedArray ExchangedArray::allocate(const Dims& shape, DataType dtype, int64_t item) {
  ExchangedArray array;
  array.view_.item = item;
  array.view_.extent = shape;
  array.view_.stride = contiguous_strides(shape, item);
  array.dtype_ = dtype;
  array.writable_ = true;
  array.memory_ = host::allocate(static_cast<std::size_t>(checked_mul(checked_count(shape), item)));
  array.view_.data = static_cast<std::byte*>(array.memory_);
  return array;
}

ExchangedArray ExchangedArray::allocate(const Dims& shape, const ElementType& type, int64_t item, int device,
                                        uintptr_t stream) {
  ExchangedArray array;
  array.view_ = ArrayView{nullptr, item, shape, contiguous_strides(shape, item)};
  array.dtype_ = type.data;
  array.descr_ = type.descr;
  array.device_ = {kCuda, device};
  array.writable_ = true;
  const int64_t bytes = checked_mul(checked_count(shape), item);
  array.device_memory_ = std::make_unique<StreamMemory>(device, stream, bytes);
  array.view_.data = array.device_memory_->data;
  return array;
}

ExchangedArray ExchangedArray::from_interface(py::object owner, uintptr_t data, const Dims& shape,
                                              const std::optional<Dims>& strides, py::object descr, bool writable,
                                              int device) {
  ExchangedArray array;
  ArrayView& view = array.view_;
  view.item = item_of(descr);
  array.dtype_ = type_of(descr);
  check_dimensions("__cuda_array_interface__", shape.size());
  view.extent = shape;
  bool empty = false;
  for (const int64_t n : shape) {
    if (n < 0) throw ExchangeError("__cuda_array_interface__ with a negative extent");
    empty = empty || n == 0;
  }
  view.stride = strides && !empty ? *strides : contiguous_strides(shape, view.item);
  if (view.stride.size() != shape.size())
    throw ExchangeError("__cuda_array_interface__ with " + std::to_string(view.stride.size()) + " strides for " +
                        std::to_string(shape.size()) + " axes");
  if (!empty) {
    if (data == 0) throw ExchangeError("__cuda_array_interface__ without data");
    check_extents(view);
    view.data = reinterpret_cast<std::byte*>(data);
  }
  array.device_ = {kCuda, device};
  array.writable_ = writable;
  array.owner_ = std::move(owner);
  array.descr_ = std::move(descr);
  return array;
}

}  // namespace gs::dlpack
