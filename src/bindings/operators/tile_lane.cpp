// tile_lane.cpp: reads the arguments of small tile calls and runs them.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <cstddef>
#include <cstring>

#include "backends/backend.h"
#include "bindings/arguments/shared_file.h"
#include "bindings/operators/literals.h"
#include "bindings/operators/tile_lane.h"
#include "calls/overlap.h"
#include "calls/tile_points.h"
#include "host/file_mapping.h"

namespace gs {
namespace {

constexpr int64_t kMostItem = 64;  // bytes; larger items are moved as rows by the general path

// The arguments of a tile call, as borrowed references; null: not given.
struct TileCall {
  PyObject* array = nullptr;
  PyObject* indices = nullptr;
  PyObject* value = nullptr;  // what is stored, or the padding
  PyObject* mask = nullptr;
  bool checks_bounds = true;
};

bool is_latency(PyObject* object) {
  if (object == Py_None) return true;
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 && value >= 1 && value <= 10;
}

// Returns false for keywords and values that only the definition of the operator reads or refuses.
bool read_tile_call(const LaneForm& form, const RawCall& raw, TileCall& call) {
  static PyObject* const mask_name = PyUnicode_InternFromString("mask");
  static PyObject* const padding_name = PyUnicode_InternFromString("padding_value");
  static PyObject* const check_name = PyUnicode_InternFromString("check_bounds");
  static PyObject* const latency_name = PyUnicode_InternFromString("latency");
  if (raw.positional != form.count) return false;
  const bool is_scatter = form.at[LaneForm::source] >= 0;
  call.array = raw.arguments[form.at[form.is_in_place ? LaneForm::out : LaneForm::input]];
  call.indices = raw.arguments[form.at[LaneForm::index]];
  if (is_scatter) call.value = raw.arguments[form.at[LaneForm::source]];
  for (Py_ssize_t i = 0; i < raw.keyword_count(); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(raw.keywords, i);
    PyObject* const value = raw.arguments[raw.positional + i];
    if (name == mask_name) {
      if (value != Py_None && value != Py_True) call.mask = value;
    } else if (name == padding_name && !is_scatter) {
      call.value = value;
    } else if (name == check_name) {
      if (value != Py_True && value != Py_False) return false;
      call.checks_bounds = value == Py_True;
    } else if (name != latency_name || !is_latency(value)) {
      return false;
    }
  }
  return true;
}

bool read_ndarray(PyObject* object, Role role, PlainArray& array) {
  return PyArray_CheckExact(object) && read_plain(object, role, array);
}

// The indices of a call, one for each axis: arrays, lists of integers, or integers.
class TileIndices {
 public:
  TileIndices() {}  // the values stay uninitialised
  TileIndices(const TileIndices&) = delete;
  TileIndices& operator=(const TileIndices&) = delete;

  bool read(PyObject* object, int rank) {
    if (!PyTuple_Check(object)) return rank == 1 && read_one(object, 0);
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) != rank) return false;
    for (int axis = 0; axis < rank; ++axis) {
      if (!read_one(PyTuple_GET_ITEM(object, axis), axis)) return false;
    }
    return true;
  }
  // Gives the points the shape that the indices broadcast to. Returns false if there is none, or not of few points.
  bool give_shape(int rank, TilePoints& points) const {
    for (int axis = 0; axis < rank; ++axis) {
      if (!points.enlarge(of[axis])) return false;
    }
    return points.end_shape();
  }
  PlainArray of[PlainArray::kMaxRank];

 private:
  bool read_one(PyObject* object, int axis) {
    PlainArray& index = of[axis];
    if (PyList_CheckExact(object)) return lists_[axis].read(object, index);
    if (!PyLong_CheckExact(object)) return read_ndarray(object, Role::index, index);
    int overflow = 0;
    numbers_[axis] = PyLong_AsLongLongAndOverflow(object, &overflow);
    index.data = reinterpret_cast<std::byte*>(&numbers_[axis]);
    index.item = sizeof(int64_t);
    return overflow == 0;
  }
  IndexList lists_[PlainArray::kMaxRank];
  int64_t numbers_[PlainArray::kMaxRank];
};

// Reads the value of a scatter or the padding of a gather. A number becomes the item, to which `value` then refers.
bool read_value(PyObject* object, const PlainArray& array, std::byte* item, PlainArray& value) {
  if (object == nullptr || is_number(object)) {
    value.data = item;
    value.item = array.item;
    if (object == nullptr || is_zero(object)) {  // of every dtype zero bytes
      std::memset(item, 0, static_cast<std::size_t>(array.item));
      return true;
    }
    return write_number_as(array, object, item);
  }
  return read_ndarray(object, Role::source, value) && value.same_type(array);
}

bool read_mask(PyObject* object, PlainArray& mask) {
  return read_ndarray(object, Role::data, mask) && PyArray_TYPE(reinterpret_cast<PyArrayObject*>(object)) == NPY_BOOL;
}

// Whether an array lies in a file, whose pages the general path asks for before it reads them.
bool is_in_file(const PlainArray& array) {
  const ByteRange range = range_of(array);
  return range.end - range.begin >= host::kLeastMappedBytes && host::known_mapping(range.begin).mapping.is_file();
}

// Whether the items of an array may be written from this value without a copy.
bool is_writable(const PlainArray& array, const PlainArray& value) {
  if (!array.writable || range_of(array).overlaps(range_of(value)) || may_share_file(array, value)) return false;
  if (array.is_contiguous()) return true;
  ArrayView view;
  view.item = array.item;
  view.extent.append(array.extent, array.rank);
  view.stride.append(array.stride, array.rank);
  return !overlaps_itself(view);
}

LaneResult gather(const PlainArray& array, const TilePoints& points, const PlainArray& padding) {
  PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.object));
  Py_INCREF(descr);
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  PyObject* const result =
      PyArray_NewFromDescr(&PyArray_Type, descr, points.rank(), reinterpret_cast<const npy_intp*>(points.extent()),
                           nullptr, nullptr, 0, nullptr);
  if (result == nullptr) return LaneResult::of(nullptr);
  points.gather(array, padding, static_cast<std::byte*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result))));
  return LaneResult::of(result);
}

LaneResult scatter(const PlainArray& array, const TilePoints& points, const PlainArray& value) {
  points.scatter(array, value);
  return LaneResult::of(Py_NewRef(array.object));
}

}  // namespace

[[gnu::hot]] LaneResult run_in_tile_lane(const LaneForm& form, const RawCall& raw) {
  // On the reference backend every call runs the kernel bodies of GPUs.
  static const bool is_cpu = std::strcmp(host_backend().name(), "cpu") == 0;
  if (!is_cpu) return LaneResult::declined();
  TileCall call;
  PlainArray array;
  TileIndices indices;
  TilePoints points;
  if (!read_tile_call(form, raw, call) || !read_ndarray(call.array, Role::data, array) || array.rank == 0 ||
      array.item == 0 || array.item > kMostItem || !indices.read(call.indices, array.rank) ||
      !indices.give_shape(array.rank, points)) {
    return LaneResult::declined();
  }
  alignas(16) std::byte item[kMostItem];
  PlainArray value;
  PlainArray mask;
  if (!read_value(call.value, array, item, value) || !points.takes(value)) return LaneResult::declined();
  if (call.mask != nullptr && !(read_mask(call.mask, mask) && points.takes(mask))) return LaneResult::declined();
  if (is_in_file(array) || (form.is_in_place && !is_writable(array, value))) return LaneResult::declined();
  points.start(call.mask != nullptr ? &mask : nullptr);
  for (int axis = 0; axis < array.rank; ++axis) {
    const bool has_all = points.add(indices.of[axis], array.extent[axis], array.stride[axis]);
    if (!has_all && !call.checks_bounds) return LaneResult::declined();
  }
  return form.is_in_place ? scatter(array, points, value) : gather(array, points, value);
}

}  // namespace gs
