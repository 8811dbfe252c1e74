// device_table.cpp: imports tables on GPUs, copies tables to GPUs and validates Arrow's capsules.
#include "bindings/device_table.h"

#include <algorithm>

#include "backends/devices.h"
#include "bindings/device_call.h"
#include "core/error.h"
#include "table/device/upload.h"
#include "table/fault.h"

namespace gs {
namespace {

bool is_on_gpu(int32_t type) {
  return type == table::kDeviceCuda || type == table::kDeviceCudaHost || type == table::kDeviceCudaManaged;
}

// Throws the error for a method `from` that returned `given`.
[[noreturn]] void fail_given(const char* from, const std::string& given, const std::string& expected) {
  throw ExchangeError(std::string(from) + " returned " + given + ", expected " + expected);
}

std::string kind_of(const py::handle& object) {
  return "an object of type " + std::string(py::str(py::type::of(object).attr("__name__")));
}

}  // namespace

void* pointer_in(const py::handle& capsule, const char* name, const char* from) {
  const std::string expected = std::string("a capsule named ") + name;
  if (!PyCapsule_CheckExact(capsule.ptr())) fail_given(from, kind_of(capsule), expected);
  if (PyCapsule_IsValid(capsule.ptr(), name) == 0) {
    const char* const found = PyCapsule_GetName(capsule.ptr());
    fail_given(from, found == nullptr ? "a capsule without a name" : "a capsule named " + table::printable(found),
               expected);
  }
  return PyCapsule_GetPointer(capsule.ptr(), name);
}

py::tuple capsules_in(const py::object& given, const char* from) {
  if (!py::isinstance<py::tuple>(given)) fail_given(from, kind_of(given), "a tuple of two capsules");
  const auto capsules = py::reinterpret_borrow<py::tuple>(given);
  if (capsules.size() != 2) {
    fail_given(from, "a tuple of length " + std::to_string(capsules.size()), "a tuple of two capsules");
  }
  return capsules;
}

bool prefers_device(const py::handle& object) {
  if (!py::hasattr(object, "__arrow_c_device_array__")) return false;
  const py::object on_host = py::getattr(object, "is_cpu", py::none());
  return on_host.ptr() != Py_True;
}

table::Chunked read_device_array(const py::object& pair, table::Check check, int& device) {
  constexpr const char* kFrom = "__arrow_c_device_array__";
  const py::tuple capsules = capsules_in(pair, kFrom);
  auto* const schema = struct_in<ArrowSchema>(capsules[0], "arrow_schema", kFrom);
  auto* const array = struct_in<ArrowDeviceArray>(capsules[1], "arrow_device_array", kFrom);
  table::Chunked chunked;
  chunked.type = std::make_shared<const table::Type>(table::import_type(schema));
  device = table::kHost;
  if (array->device_type != table::kDeviceCpu) {
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
  chunked.chunks.push_back(table::import_array(&array->array, *chunked.type, check, device == table::kHost));
  return chunked;
}

ArrowTable to_device(const ArrowTable& table, const std::string& op, int device) {
  if (table.frame().device == device) return ArrowTable(table);
  return ArrowTable(with_sharing(op, false, [&](const table::Sharing& sharing) {
    return table::upload(table::DeviceContext(sharing, device), table.frame());
  }));
}

}  // namespace gs
