// arrow_capsules.cpp: implements arrow_capsules.h, for host memory and GPUs.
// https://arrow.apache.org/docs/format/CDeviceDataInterface.html
#include "bindings/tables/arrow_capsules.h"

#include <algorithm>
#include <cstring>

#include "arrow/fault.h"
#include "backends/devices.h"
#include "bindings/devices/device_call.h"
#include "bindings/gil.h"
#include "bindings/python_calls.h"
#include "core/error.h"
#include "table/frame.h"

namespace gs {
namespace {

bool is_on_gpu(int32_t type) {
  return type == arrow::kDeviceCuda || type == arrow::kDeviceCudaHost || type == arrow::kDeviceCudaManaged;
}

// Throws the error for a method `from` that returned `given`.
[[noreturn]] void fail_given(const char* from, const std::string& given, const std::string& expected) {
  throw ExchangeError(std::string(from) + " returned " + given + ", expected " + expected);
}

std::string kind_of(const py::handle& object) {
  return "an object of type " + python::text_of(python::attribute(py::type::of(object), "__name__"));
}

// The pointer in a capsule. Throws ExchangeError for an object that is not a capsule of this name; `from` is the method
// that returned it, for the message.
void* pointer_in(const py::handle& capsule, const char* name, const char* from) {
  const std::string expected = std::string("a capsule named ") + name;
  if (!PyCapsule_CheckExact(capsule.ptr())) fail_given(from, kind_of(capsule), expected);
  if (PyCapsule_IsValid(capsule.ptr(), name) == 0) {
    const char* const found = PyCapsule_GetName(capsule.ptr());
    fail_given(from, found == nullptr ? "a capsule without a name" : "a capsule named " + arrow::printable(found),
               expected);
  }
  return PyCapsule_GetPointer(capsule.ptr(), name);
}

template <class Struct>
Struct* struct_in(const py::handle& capsule, const char* name, const char* from) {
  return static_cast<Struct*>(pointer_in(capsule, name, from));
}

// The two capsules that the method `from` returned. Throws ExchangeError for any other object.
py::tuple capsules_in(const py::object& given, const char* from) {
  if (!py::isinstance<py::tuple>(given)) fail_given(from, kind_of(given), "a tuple of two capsules");
  const auto capsules = py::reinterpret_borrow<py::tuple>(given);
  if (capsules.size() != 2) {
    fail_given(from, "a tuple of length " + std::to_string(capsules.size()), "a tuple of two capsules");
  }
  return capsules;
}

bool is_of_pyarrow(const PyTypeObject* type) {
  while (type != nullptr && std::strncmp(type->tp_name, "pyarrow.", 8) != 0) type = type->tp_base;
  return type != nullptr;
}

}  // namespace

void check_buffer_sizes(const py::handle& object) {
  if (!is_of_pyarrow(Py_TYPE(object.ptr()))) return;
  static PyObject* const name = PyUnicode_InternFromString("validate");
  if (PyObject_HasAttr(object.ptr(), name) == 0) return;  // a stream, whose batches are not known yet
  const auto answer =
      py::reinterpret_steal<py::object>(call_python([&] { return PyObject_CallMethodNoArgs(object.ptr(), name); }));
  if (answer) return;
  py::error_already_set error;
  if (!error.matches(PyExc_ValueError)) throw error;  // ArrowInvalid is a ValueError
  throw ExchangeError(std::string(py::str(error.value())));
}

bool prefers_device(const py::handle& object) {
  if (!python::has_attribute(object, "__arrow_c_device_array__")) return false;
  return python::attribute_or_none(object, "is_cpu").ptr() != Py_True;
}

arrow::Chunked read_stream(const py::object& capsule, arrow::Check check) {
  auto* const stream = struct_in<ArrowArrayStream>(capsule, "arrow_array_stream", "__arrow_c_stream__");
  const Unlocked unlocked;  // the producer may wait for threads that need the GIL
  return arrow::import_stream(stream, check);
}

arrow::Chunked read_array(const py::object& pair, arrow::Check check) {
  constexpr const char* kFrom = "__arrow_c_array__";
  const py::tuple capsules = capsules_in(pair, kFrom);
  auto* const schema = struct_in<ArrowSchema>(capsules[0], "arrow_schema", kFrom);
  auto* const array = struct_in<ArrowArray>(capsules[1], "arrow_array", kFrom);
  arrow::Chunked chunked;
  chunked.type = std::make_shared<const arrow::Type>(arrow::import_type(schema));
  chunked.chunks.push_back(arrow::import_array(array, *chunked.type, check));
  return chunked;
}

arrow::Chunked read_device_array(const py::object& pair, arrow::Check check, int& device) {
  constexpr const char* kFrom = "__arrow_c_device_array__";
  const py::tuple capsules = capsules_in(pair, kFrom);
  auto* const schema = struct_in<ArrowSchema>(capsules[0], "arrow_schema", kFrom);
  auto* const array = struct_in<ArrowDeviceArray>(capsules[1], "arrow_device_array", kFrom);
  arrow::Chunked chunked;
  chunked.type = std::make_shared<const arrow::Type>(arrow::import_type(schema));
  device = table::kHost;
  if (array->device_type != arrow::kDeviceCpu) {
    if (!is_on_gpu(array->device_type)) {
      throw ExchangeError("Arrow device array: device type " + std::to_string(array->device_type) +
                          ", expected CPU (1) or a type of CUDA (2, 3 or 13)");
    }
    const Devices& all = loaded_devices();
    device = array->device_id < 0 ? 0 : static_cast<int>(std::min<int64_t>(array->device_id, all.count()));
    if (device >= all.count()) {
      throw ExchangeError("Arrow device array lies on device " + std::to_string(array->device_id) + ", expected 0 to " +
                          std::to_string(all.count() - 1));
    }
    if (array->sync_event != nullptr) all.machine(device, 0)->wait_for_event(array->sync_event);
  }
  chunked.chunks.push_back(arrow::import_array(&array->array, *chunked.type, check, device == table::kHost));
  return chunked;
}

}  // namespace gs
