// torch_memory.cpp: reads storage and dtype of torch tensors through torch's C interface.
#include "bindings/arguments/torch_memory.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>

#include "bindings/arguments/torch_bits.h"
#include "bindings/arguments/torch_modes.h"
#include "bindings/python_calls.h"

namespace gs::dlpack {
namespace {

namespace py = pybind11;

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Offset in bytes of the C++ tensor, which is one pointer, in its Python object. 0: not searched yet; -1: not found. It
// is cached, because torch's own query, `_cdata`, takes longer than all other steps of the check.
std::atomic<int> pointer_offset{0};

int find_pointer_offset(PyObject* object, const PyGetSetDef& address) {
  const WithoutModes guard;
  PyObject* number = address.get(object, address.closure);
  const void* const implementation = number == nullptr ? nullptr : PyLong_AsVoidPtr(number);
  Py_XDECREF(number);
  if (PyErr_Occurred()) PyErr_Clear();
  if (implementation == nullptr) return 0;  // this tensor gave no address; another one may
  const auto size = static_cast<int>(Py_TYPE(object)->tp_basicsize);
  constexpr int kWord = sizeof(void*);
  for (int offset = sizeof(PyObject); offset + kWord <= size; offset += kWord) {
    if (std::memcmp(reinterpret_cast<const char*>(object) + offset, &implementation, kWord) == 0) return offset;
  }
  return -1;
}

}  // namespace

TorchMemory::TorchMemory(PyTypeObject* tensor_type) {
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);  // torch has loaded it before
  if (library == nullptr) return;
  const auto int8 = symbol<int32_t (*)()>(library, "aoti_torch_dtype_int8");
  const auto uint8 = symbol<int32_t (*)()>(library, "aoti_torch_dtype_uint8");
  storage_bytes_ = symbol<Query64>(library, "aoti_torch_get_storage_size");
  storage_offset_ = symbol<Query64>(library, "aoti_torch_get_storage_offset");
  dtype_ = symbol<Query32>(library, "aoti_torch_get_dtype");
  if (int8 == nullptr || uint8 == nullptr || storage_bytes_ == nullptr || storage_offset_ == nullptr ||
      dtype_ == nullptr) {
    return;
  }
  int8_ = int8();
  uint8_ = uint8();
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}) {
    const auto number = symbol<int32_t (*)()>(library, (std::string("aoti_torch_dtype_") + name).c_str());
    if (number != nullptr && number() >= 0 && number() < 64) integers_ |= uint64_t{1} << number();
  }
  const py::object address = python::attribute_or_none(reinterpret_cast<PyObject*>(tensor_type), "_cdata");
  if (!Py_IS_TYPE(address.ptr(), &PyGetSetDescr_Type)) return;
  address_ = reinterpret_cast<PyGetSetDescrObject*>(address.inc_ref().ptr())->d_getset;
}

const void* TorchMemory::tensor_in(PyObject* object) const {
  if (address_ == nullptr) return nullptr;
  int offset = pointer_offset.load(std::memory_order_relaxed);
  if (offset == 0) {
    offset = find_pointer_offset(object, *address_);
    pointer_offset.store(offset, std::memory_order_relaxed);
  }
  if (offset <= 0) return nullptr;
  const void* const tensor = reinterpret_cast<const char*>(object) + offset;
  return *static_cast<void* const*>(tensor) == nullptr ? nullptr : tensor;
}

bool TorchMemory::is_unbacked(PyObject* object, const Tensor& header) const {
  if (header.data == nullptr) return true;
  const void* const tensor = tensor_in(object);
  int64_t offset = 0;
  if (tensor == nullptr || storage_offset_(tensor, &offset) != 0) return false;
  return static_cast<uint64_t>(offset) * (header.dtype.bits / 8) == reinterpret_cast<uintptr_t>(header.data);
}

bool TorchMemory::is_integer(PyObject* object) const {
  const void* const tensor = tensor_in(object);
  int32_t dtype = -1;
  if (tensor == nullptr || dtype_(tensor, &dtype) != 0 || dtype < 0 || dtype >= 64) return false;
  return ((integers_ >> dtype) & 1) != 0;
}

std::optional<bool> is_plain_float(PyObject* object, bool ignores_gradients) {
  static void* const torch_cpu = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  static void* const core = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch_cpu == nullptr || core == nullptr) return {};
  static const auto is_negative = symbol<bool (*)(const void*)>(torch_cpu, "_ZN2at6native6is_negERKNS_6TensorE");
  static const auto requires_grad = symbol<bool (*)(const void*)>(core, "_ZNK3c1010TensorImpl13requires_gradEv");
  const int offset = pointer_offset.load(std::memory_order_relaxed);
  if (is_negative == nullptr || requires_grad == nullptr || offset <= 0) return {};
  const void* const tensor = reinterpret_cast<const char*>(object) + offset;
  const void* const implementation = *static_cast<const void* const*>(tensor);
  if (implementation == nullptr) return {};
  return (ignores_gradients || !requires_grad(implementation)) && !is_negative(tensor);
}

bool TorchMemory::confirms(PyObject* object, DataType dtype, int64_t item, int rank, const int64_t* extent,
                           const int64_t* stride) const {
  const void* const tensor = tensor_in(object);
  if (tensor == nullptr) return false;
  if (dtype.bits == 8 && (dtype.code == kInt || dtype.code == kUInt)) {
    int32_t own = 0;
    if (dtype_(tensor, &own) != 0 || own != (dtype.code == kInt ? int8_ : uint8_)) return false;
  }
  int64_t bytes = 0;
  int64_t first = 0;
  if (storage_bytes_(tensor, &bytes) != 0 || storage_offset_(tensor, &first) != 0) return false;
  if (__builtin_mul_overflow(first, item, &first)) return false;
  int64_t last = first;
  for (int axis = 0; axis < rank; ++axis) {
    if (extent[axis] == 0) return true;
    int64_t span = 0;
    if (__builtin_mul_overflow(extent[axis] - 1, stride[axis], &span)) return false;
    if (__builtin_add_overflow(span < 0 ? first : last, span, span < 0 ? &first : &last)) return false;
  }
  return first >= 0 && last <= bytes - item;
}

}  // namespace gs::dlpack
