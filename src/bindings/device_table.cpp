// device_table.cpp: see device_table.h.
#include "bindings/device_table.h"

#include <algorithm>

#include "backends/devices.h"
#include "bindings/place.h"
#include "core/error.h"
#include "table/device/upload.h"

namespace gs {
namespace {

bool is_on_gpu(int32_t type) {
  return type == table::kDeviceCuda || type == table::kDeviceCudaHost || type == table::kDeviceCudaManaged;
}

}  // namespace

bool prefers_device(const py::handle& object) {
  if (!py::hasattr(object, "__arrow_c_device_array__")) return false;
  const py::object on_host = py::getattr(object, "is_cpu", py::none());
  return on_host.is_none() || !py::cast<bool>(on_host);
}

table::Chunked read_device_array(const py::object& pair, table::Check check, int& device) {
  if (!py::isinstance<py::tuple>(pair) || py::len(pair) != 2) {
    throw py::type_error("__arrow_c_device_array__ gave " + std::string(py::str(py::type::of(pair))) +
                         ", not two capsules");
  }
  const py::tuple capsules = pair;
  auto* const schema = pointer_in<ArrowSchema>(capsules[0], "arrow_schema");
  auto* const array = pointer_in<ArrowDeviceArray>(capsules[1], "arrow_device_array");
  table::Chunked chunked;
  chunked.type = std::make_shared<const table::Type>(table::import_type(schema));
  device = table::kHost;
  if (array->device_type != table::kDeviceCpu) {
    if (!is_on_gpu(array->device_type)) {
      throw ExchangeError("Arrow device array: device type " + std::to_string(array->device_type) +
                          ", expected CPU (1) or one of CUDA's (2, 3, 13)");
    }
    const Devices& all = loaded_devices();
    device = array->device_id < 0 ? 0 : static_cast<int>(std::min<int64_t>(array->device_id, all.count()));
    if (device >= all.count()) {
      throw ExchangeError("Arrow device array: it lies on device " + std::to_string(array->device_id) + " of " +
                          std::to_string(all.count()));
    }
    if (array->sync_event != nullptr) all.machine(device, 0)->wait_for_event(array->sync_event);
  }
  chunked.chunks.push_back(table::import_array(&array->array, *chunked.type, check, device == table::kHost));
  return chunked;
}

ArrowTable to_device(const ArrowTable& table, const std::string& op, int device) {
  if (table.frame().device == device) return ArrowTable(table);
  return ArrowTable(with_sharing(op, false, [&](const table::Selection::Sharing& sharing) {
    return table::upload(table::Worker(sharing, device), table.frame());
  }));
}

}  // namespace gs
