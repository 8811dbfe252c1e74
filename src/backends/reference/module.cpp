// module.cpp: defines the extension module `gatherscatter._reference`: kernel bodies compiled for the emulated GPU.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "backends/device/bodies/bodies.h"
#include "backends/reference/device_memory.h"
#include "backends/reference/host_machine.h"
#include "backends/reference/record.h"

namespace py = pybind11;

namespace {

// For tests: the counts and the orders between streams since the last call, and the number of live allocations.
py::dict take_record() {
  gs::reference::Record& record = gs::reference::record();
  py::dict facts;
  facts["launches"] = record.launches.exchange(0);
  facts["waits"] = record.waits.exchange(0);
  facts["asks"] = record.asks.exchange(0);
  facts["writes"] = record.writes.exchange(0);
  facts["live"] = record.live.load();
  py::list orders;
  for (const auto& order : record.take_orders()) {
    orders.append(py::make_tuple(order.call, order.device, order.stream, order.other));
  }
  facts["orders"] = orders;
  return facts;
}

gs::reference::DeviceMemory& memory() {
  return gs::reference::DeviceMemory::instance();
}

// For tests: new device memory as an array of bytes at its host address.
py::array device_memory(int64_t bytes) {
  std::byte* const device = memory().allocate(bytes);
  const py::capsule owner(device, [](void* given) { memory().release(static_cast<std::byte*>(given)); });
  return py::array_t<uint8_t>(bytes, reinterpret_cast<const uint8_t*>(memory().host(device)), owner);
}

uintptr_t device_address(uintptr_t host) {
  return reinterpret_cast<uintptr_t>(memory().device(reinterpret_cast<std::byte*>(host)));
}

uintptr_t host_address(uintptr_t device) {
  return reinterpret_cast<uintptr_t>(memory().host(reinterpret_cast<std::byte*>(device)));
}

}  // namespace

PYBIND11_MODULE(_reference, module) {
  static const gs::Offer offer{gs::device::bodies_checksum(), &gs::reference::devices()};
  module.attr("devices") = py::capsule(&offer, gs::kOfferName);
  module.def("device_memory", &device_memory);
  module.def("device_address", &device_address);
  module.def("host_address", &host_address);
  module.def("take_record", &take_record);
  module.def("hold_receipts", [](bool holds) { gs::reference::record().holds_receipts = holds; });
  module.def("set_capturing", [](bool captures) { gs::reference::record().is_capturing = captures; });
}
