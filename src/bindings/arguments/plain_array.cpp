// plain_array.cpp: reads the headers of ndarrays and torch tensors.
#include "bindings/numpy_api.h"
// NumPy's header first
#include "bindings/arguments/plain_array.h"

namespace gs {
namespace {

bool index_type(bool is_signed, int64_t item, IndexType& type) {
  const int from = is_signed ? 0 : 4;
  for (int candidate = from; candidate < from + 4; ++candidate) {
    type = static_cast<IndexType>(candidate);
    if (index_size(type) == item) return true;
  }
  return false;
}

bool read_ndarray(PyObject* object, Role role, PlainArray& array) {
  auto* source = reinterpret_cast<PyArrayObject*>(object);
  PyArray_Descr* descr = PyArray_DESCR(source);
  array.rank = PyArray_NDIM(source);
  if (array.rank > PlainArray::kMaxRank || PyDataType_REFCHK(descr)) return false;
  array.item = PyDataType_ELSIZE(descr);
  if (role == Role::index) {
    const int type = descr->type_num;
    if (!PyTypeNum_ISINTEGER(type) || !PyArray_ISNBO(descr->byteorder)) return false;
    if (!index_type(PyTypeNum_ISSIGNED(type), array.item, array.type)) return false;
  }
  array.data = static_cast<std::byte*>(PyArray_DATA(source));
  for (int axis = 0; axis < array.rank; ++axis) {
    array.extent[axis] = PyArray_DIMS(source)[axis];
    array.stride[axis] = PyArray_STRIDES(source)[axis];
  }
  array.writable = PyArray_ISWRITEABLE(source);
  return true;
}

bool is_integer_or_bool(uint8_t code) {
  return code == dlpack::kInt || code == dlpack::kUInt || code == dlpack::kBool;
}

bool read_tensor(PyObject* object, Role role, PlainArray& array) {
  const dlpack::Torch& torch = dlpack::torch();
  dlpack::Tensor tensor{};
  if (torch.api->tensor_from_object(object, &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  if (tensor.ndim > PlainArray::kMaxRank || tensor.strides == nullptr || tensor.dtype.bits % 8 != 0) return false;
  array.item = tensor.dtype.bits / 8;
  array.rank = tensor.ndim;
  for (int axis = 0; axis < array.rank; ++axis) {
    array.extent[axis] = tensor.shape[axis];
    if (__builtin_mul_overflow(tensor.strides[axis], array.item, &array.stride[axis])) return false;
  }
  const uint8_t code = tensor.dtype.code;
  const bool is_signed = code == dlpack::kInt;
  const bool is_integer = is_signed || code == dlpack::kUInt;
  if (!(is_integer_or_bool(code) || code == dlpack::kFloat || code == dlpack::kBfloat) ||
      tensor.device.type != dlpack::kCpu || torch.memory.is_unbacked(object, tensor) || tensor.byte_offset != 0 ||
      tensor.dtype.lanes != 1) {
    return false;
  }
  if (role == Role::index && !(is_integer && index_type(is_signed, array.item, array.type))) return false;
  if (!torch.memory.confirms(object, tensor.dtype, array.item, array.rank, array.extent, array.stride)) return false;
  array.library = Library::torch;
  array.data = static_cast<std::byte*>(tensor.data);
  array.writable = true;
  array.dtype = tensor.dtype;
  return true;
}

}  // namespace

bool PlainArray::same_type(const PlainArray& other) const {
  if (library != other.library) return false;
  if (library == Library::torch) return dtype == other.dtype;
  return PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)) ==
         PyArray_DESCR(reinterpret_cast<PyArrayObject*>(other.object));
}

bool PlainArray::has_type(const ElementType& other) const {
  if (library == Library::torch) return !other.descr && dtype == other.data;
  return reinterpret_cast<PyObject*>(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object))) == other.descr.ptr();
}

bool PlainArray::is_bool() const {
  if (library == Library::torch) return dtype.code == dlpack::kBool && item == 1;
  return PyArray_TYPE(reinterpret_cast<PyArrayObject*>(object)) == NPY_BOOL;
}

bool PlainArray::has_zero() const {
  if (library == Library::torch) return true;
  const int kind = PyArray_TYPE(reinterpret_cast<PyArrayObject*>(object));
  return kind != NPY_DATETIME && kind != NPY_TIMEDELTA && kind != NPY_VOID;  // fields may be dates
}

Number PlainArray::number() const {
  if (library == Library::torch) return number_of(dtype);
  return number_of(type_of(reinterpret_cast<PyObject*>(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)))));
}

[[gnu::hot]] bool has_plain_values(PyObject* object) {
  if (PyArray_CheckExact(object)) return true;
  const dlpack::Torch& torch = dlpack::torch();
  if (!torch.is_tensor(object) || torch.in_dispatch_mode()) return false;
  return torch.memory.is_integer(object) || (!torch.in_forward_mode() && torch.is_plain_float(object));
}

[[gnu::hot]] bool read_plain(PyObject* object, Role role, PlainArray& array) {
  array.object = object;
  if (PyArray_CheckExact(object)) return read_ndarray(object, role, array);
  return dlpack::torch().is_tensor(object) && read_tensor(object, role, array);
}

}  // namespace gs
