// to_python.cpp: allocates results in the caller's library and converts them to finished Python objects.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <tuple>

#include "bindings/arguments/to_python.h"
#include "bindings/arguments/tuples.h"
#include "bindings/devices/device_operands.h"
#include "bindings/python_calls.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/memory_pool.h"

namespace gs {
namespace {

// Results from this size on use the memory pool, which recycles its memory, instead of the allocator of NumPy.
constexpr int64_t kPooledBytes = 256 * 1024;

void release_capsule(PyObject* capsule) {
  host::release(PyCapsule_GetPointer(capsule, nullptr));
}

py::object allocate_ndarray(const Operand& source, const Dims& shape) {
  auto* like = reinterpret_cast<PyArrayObject*>(source.object.ptr());
  if (shape.size() > NPY_MAXDIMS) {
    throw ShapeError("the result would have " + std::to_string(shape.size()) + " dimensions; NumPy's maximum is " +
                     std::to_string(NPY_MAXDIMS));
  }
  PyArray_Descr* descr = PyArray_DESCR(like);
  PyTypeObject* type = Py_TYPE(like);
  PyObject* parent = type == &PyArray_Type ? nullptr : source.object.ptr();
  const int64_t bytes = checked_mul(checked_count(shape), source.view.item);
  const auto* dims = reinterpret_cast<const npy_intp*>(shape.data());
  void* block = nullptr;
  py::object owner;
  if (bytes >= kPooledBytes) {
    block = host::allocate(static_cast<std::size_t>(bytes));
    owner = py::reinterpret_steal<py::object>(PyCapsule_New(block, nullptr, release_capsule));
    if (!owner) {
      host::release(block);
      throw py::error_already_set();
    }
  }
  Py_INCREF(descr);
  PyObject* array =
      PyArray_NewFromDescr(type, descr, shape.size(), dims, nullptr, block, block ? NPY_ARRAY_CARRAY : 0, parent);
  if (array == nullptr) throw py::error_already_set();
  auto object = py::reinterpret_steal<py::object>(array);
  auto* fresh = reinterpret_cast<PyArrayObject*>(array);
  if (block != nullptr && PyArray_SetBaseObject(fresh, owner.release().ptr()) < 0) throw py::error_already_set();
  // The __array_finalize__ of a subclass may change the array in place, but the result is written with the layout that
  // was allocated. So the layout is checked again.
  bool intact = PyArray_NDIM(fresh) == shape.size() && PyArray_IS_C_CONTIGUOUS(fresh) &&
                (source.view.item == 0 || PyDataType_ELSIZE(PyArray_DESCR(fresh)) == source.view.item);
  for (int axis = 0; intact && axis < shape.size(); ++axis) intact = PyArray_DIM(fresh, axis) == shape[axis];
  if (!intact) {
    throw ShapeError(std::string(Py_TYPE(array)->tp_name) + ".__array_finalize__ changed the shape of a fresh result");
  }
  if (source.view.item == 0) {
    // NumPy gives an array of strings of width 0 a larger width. No kernel writes to it, so it is cleared here.
    std::memset(PyArray_DATA(fresh), 0, static_cast<std::size_t>(PyArray_NBYTES(fresh)));
  }
  return object;
}

// Makes the library of `adapter` allocate an array on its GPU. Returns the array and the address of its memory.
std::pair<py::object, std::byte*> make_array_on_device(const py::object& adapter, const ElementType& type,
                                                       const Dims& shape) {
  const py::object dtype = type.descr ? type.descr : py::str(type.name());
  const py::object made = python::call_method(adapter, "make", to_tuple(shape), dtype);
  const auto pair = py::cast<py::tuple>(made);
  return {pair[0], reinterpret_cast<std::byte*>(pair[1].cast<uintptr_t>())};
}

}  // namespace

Result::Result(const Operands& operands, const Dims& shape) : prototype_(prototype_of(operands)) {
  if (operands.device_call) {
    make_on_device(*operands.device_call, operands.input, shape);
  } else {
    make_on_host(shape);
  }
}

void Result::make_on_host(const Dims& shape) {
  switch (prototype_.library) {
    case Library::numpy:
      object_ = allocate_ndarray(prototype_, shape);
      data_ = static_cast<std::byte*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(object_.ptr())));
      break;
    case Library::torch:
      tensor_ = dlpack::allocate_tensor(shape, prototype_.type.data, prototype_.view.item);
      data_ = static_cast<std::byte*>(tensor_->tensor.data);
      break;
    case Library::dlpack: {
      dlpack::ExchangedArray array =
          dlpack::ExchangedArray::allocate(shape, prototype_.type.data, prototype_.view.item);
      data_ = array.view().data;
      object_ = py::cast(std::move(array));
      break;
    }
  }
}

void Result::make_on_device(const DeviceCall& call, const Operand& input, const Dims& shape) {
  const ElementType& type = input.type;
  if (prototype_.library == Library::torch) {
    if (type.data.code == dlpack::kOpaque) throw DTypeError("torch has no dtype " + type.name());
    tensor_ = dlpack::allocate_torch(shape, type.data, call.device());
    data_ = static_cast<std::byte*>(tensor_->tensor.data) + tensor_->tensor.byte_offset;
    return;
  }
  const py::object& adapter = prototype_.location->adapter;
  if (adapter && !python::attribute(adapter, "make").is_none()) {
    std::tie(object_, data_) = make_array_on_device(adapter, type, shape);
    is_finished_ = true;
    return;
  }
  dlpack::ExchangedArray array =
      dlpack::ExchangedArray::allocate(shape, type, input.view.item, call.device(), call.stream());
  data_ = array.view().data;
  object_ = py::cast(std::move(array));
}

Result::~Result() {
  if (tensor_ != nullptr) tensor_->deleter(tensor_);
}

py::object Result::take() {
  if (tensor_ != nullptr) {
    object_ = dlpack::to_torch(tensor_);
    tensor_ = nullptr;
  } else if (prototype_.library == Library::numpy && PyArray_CheckExact(object_.ptr()) &&
             PyArray_NDIM(reinterpret_cast<PyArrayObject*>(object_.ptr())) == 0) {
    object_ =
        py::reinterpret_steal<py::object>(PyArray_Return(reinterpret_cast<PyArrayObject*>(object_.release().ptr())));
    if (!object_) throw py::error_already_set();
  }
  if (is_finished_) return object_;
  if (prototype_.location && prototype_.location->adapter) {
    return python::call_method(prototype_.location->adapter, "wrap", object_);
  }
  return prototype_.wrap ? python::call(prototype_.wrap, object_) : object_;
}

}  // namespace gs
