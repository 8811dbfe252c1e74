// literals.cpp: implements literals.h.
#include "bindings/numpy_api.h"
// NumPy's headers first
#include <numpy/arrayscalars.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "bindings/operators/literals.h"
#include "bindings/python_calls.h"

namespace gs {
namespace {

enum class ItemKind : uint8_t { boolean, signed_integer, unsigned_integer, real, other };

ItemKind kind_of(const PlainArray& array) {
  if (array.library == Library::torch) {
    switch (array.dtype.code) {
      case dlpack::kBool: return ItemKind::boolean;
      case dlpack::kInt: return ItemKind::signed_integer;
      case dlpack::kUInt: return ItemKind::unsigned_integer;
      case dlpack::kFloat: return ItemKind::real;
      default: return ItemKind::other;
    }
  }
  const PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.object));
  if (!PyArray_ISNBO(descr->byteorder)) return ItemKind::other;
  if (descr->type_num == NPY_BOOL) return ItemKind::boolean;
  if (PyTypeNum_ISINTEGER(descr->type_num)) {
    return PyTypeNum_ISSIGNED(descr->type_num) ? ItemKind::signed_integer : ItemKind::unsigned_integer;
  }
  return descr->type_num == NPY_FLOAT || descr->type_num == NPY_DOUBLE ? ItemKind::real : ItemKind::other;
}

// Writes the low bytes of a word, which has this size or a larger one.
template <class Word>
bool write(Word word, int64_t bytes, std::byte* item) {
  std::memcpy(item, &word, static_cast<std::size_t>(bytes));  // processors are little-endian (bits.h)
  return true;
}

// Floats of 8 bytes hold every Python float; floats of 4 bytes round those in their normal range.
bool write_real(double value, int64_t bytes, std::byte* item) {
  if (bytes == 8) return write(value, 8, item);
  const double size = std::fabs(value);
  const bool is_normal = value == 0 || (size >= FLT_MIN && size <= FLT_MAX);
  return bytes == 4 && is_normal && write(static_cast<float>(value), 4, item);
}

bool write_integer(PyObject* number, ItemKind kind, int64_t bytes, std::byte* item) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return false;
  if (kind == ItemKind::real) {  // only integers that the float holds exactly
    const int64_t most = int64_t{1} << (bytes == 8 ? DBL_MANT_DIG : FLT_MANT_DIG);
    return value >= -most && value <= most && write_real(static_cast<double>(value), bytes, item);
  }
  const bool is_signed = kind == ItemKind::signed_integer;
  const int64_t bits = 8 * bytes - (is_signed ? 1 : 0);
  if (!is_signed && value < 0) return false;
  if (bits < 63 && (value < -(int64_t{1} << bits) || value >= int64_t{1} << bits)) return false;
  return write(value, bytes, item);
}

bool write_number(PyObject* number, ItemKind kind, int64_t bytes, std::byte* item) {
  if (PyBool_Check(number)) return kind == ItemKind::boolean && write(uint8_t{number == Py_True}, bytes, item);
  if (kind == ItemKind::boolean || kind == ItemKind::other || bytes > 8) return false;
  if (PyLong_CheckExact(number)) return write_integer(number, kind, bytes, item);
  return kind == ItemKind::real && write_real(PyFloat_AS_DOUBLE(number), bytes, item);
}

// Copies the value of a scalar. `Object` need only have a value of the same size at the same place. NumPy's own
// function takes 20 ns longer.
template <class Object>
void copy_value(PyObject* scalar, std::byte* item) {
  const auto& value = reinterpret_cast<const Object*>(scalar)->obval;
  std::memcpy(item, &value, sizeof value);
}

// Writes a scalar of NumPy, if it is a number of the dtype of the array.
bool write_scalar(const PlainArray& array, PyObject* scalar, std::byte* item) {
  if (array.library == Library::torch) return false;
  const PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.object));
  const int type = descr->type_num;
  if (!PyTypeNum_ISNUMBER(type)) return false;
  if (type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE) return false;  // they have bytes without a meaning
  if (descr->typeobj != Py_TYPE(scalar) || !PyArray_ISNBO(descr->byteorder)) return false;
  switch (array.item) {
    case 1: copy_value<PyByteScalarObject>(scalar, item); break;
    case 2: copy_value<PyShortScalarObject>(scalar, item); break;
    case 4: copy_value<PyFloatScalarObject>(scalar, item); break;
    case 8: copy_value<PyDoubleScalarObject>(scalar, item); break;  // also complex64, two floats
    default: PyArray_ScalarAsCtype(scalar, item);
  }
  return true;
}

bool is_python_number(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
}

// The Python number that a scalar of NumPy stands for; null for all but bools, integers and floats of up to 64 bits.
// Clears errors.
py::object python_number(PyObject* scalar) {
  const auto owner = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(scalar)));
  const auto* const descr = reinterpret_cast<PyArray_Descr*>(owner.ptr());
  py::object number;
  // Dates and durations, whose item may be an integer, are no numbers.
  if (descr != nullptr && descr->typeobj == Py_TYPE(scalar) && PyTypeNum_ISNUMBER(descr->type_num)) {
    number =
        py::reinterpret_steal<py::object>(call_python([&] { return PyObject_CallMethod(scalar, "item", nullptr); }));
  }
  if (number && is_python_number(number.ptr())) return number;
  PyErr_Clear();
  return {};
}

}  // namespace

bool is_number(PyObject* object) {
  return is_python_number(object) || PyArray_IsScalar(object, Generic);
}

bool is_zero(PyObject* object) {
  int overflow = 0;
  return PyLong_CheckExact(object) && PyLong_AsLongLongAndOverflow(object, &overflow) == 0 && overflow == 0;
}

bool write_number_as(const PlainArray& array, PyObject* number, std::byte* item) {
  if (!is_python_number(number)) return write_scalar(array, number, item);
  return write_number(number, kind_of(array), array.item, item);
}

PyObject* item_array(PyObject* like, PyObject* number) {
  PlainArray array;
  alignas(16) std::byte item[kMostNumber];
  if (!is_number(number) || !PyArray_CheckExact(like) || !read_plain(like, Role::data, array)) return nullptr;
  if (array.item > kMostNumber) return nullptr;
  if (!write_number_as(array, number, item)) {
    const py::object other = is_python_number(number) ? py::object() : python_number(number);
    if (!other || !write_number_as(array, other.ptr(), item)) return nullptr;
  }
  PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(like));
  Py_INCREF(descr);
  PyObject* const result = PyArray_NewFromDescr(&PyArray_Type, descr, 0, nullptr, nullptr, nullptr, 0, nullptr);
  if (result == nullptr) return nullptr;
  std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result)), item, static_cast<std::size_t>(array.item));
  return result;
}

bool IndexList::read(PyObject* object, PlainArray& index) {
  if (!PyList_CheckExact(object)) return false;
  const Py_ssize_t count = PyList_GET_SIZE(object);
  if (count == 0 || count > kMost) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {  // no Python code runs, so the list cannot change meanwhile
    PyObject* const item = PyList_GET_ITEM(object, i);
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    values_[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow != 0) return false;
  }
  index.data = reinterpret_cast<std::byte*>(values_);
  index.item = sizeof(int64_t);
  index.rank = 1;
  index.extent[0] = count;
  index.stride[0] = sizeof(int64_t);
  index.type = IndexType::i64;
  return true;
}

bool RepeatedNumber::read(PyObject* object, const PlainArray& target, PlainArray& source) {
  if (!is_number(object)) return false;
  int64_t bytes = target.item;
  for (int axis = source.rank - 1; axis >= 0; --axis) {
    source.stride[axis] = bytes;
    if (__builtin_mul_overflow(bytes, source.extent[axis], &bytes) || bytes > kMost) return false;
  }
  if (bytes == 0 || !write_number_as(target, object, items_)) return false;
  for (int64_t filled = target.item; filled < bytes; filled *= 2) {
    std::memcpy(items_ + filled, items_, static_cast<std::size_t>(std::min(filled, bytes - filled)));
  }
  source.data = items_;
  source.item = target.item;
  source.library = target.library;
  source.dtype = target.dtype;
  return true;
}

}  // namespace gs
