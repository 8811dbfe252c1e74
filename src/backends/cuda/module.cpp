// module.cpp: defines the extension module `gatherscatter._cuda`: kernel bodies for GPUs, and facts about the driver.
#include <pybind11/pybind11.h>

#include "backends/cuda/call.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/resources.h"
#include "backends/device/bodies/bodies.h"

namespace py = pybind11;

namespace {

py::object text_or_none(const std::string& text) {
  return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

py::str version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

py::dict facts() {
  const gs::cuda::DriverFacts& driver = gs::cuda::driver();
  py::list devices;
  for (const gs::cuda::DeviceFacts& device : driver.devices) {
    py::dict one;
    one["name"] = device.name;
    one["compute_capability"] = std::to_string(device.major) + "." + std::to_string(device.minor);
    one["memory_bytes"] = device.memory;
    one["memory_pools"] = device.has_pools;
    one["reason"] = text_or_none(device.reason);
    devices.append(one);
  }
  py::dict all;
  all["architectures"] = gs::cuda::architectures();
  all["runtime"] = version(CUDART_VERSION);
  all["driver"] = driver.version == 0 ? py::object(py::none()) : py::object(version(driver.version));
  all["reason"] = text_or_none(driver.reason);
  all["devices"] = devices;
  return all;
}

py::dict counts() {
  const gs::cuda::Counts& counts = gs::cuda::counts();
  py::dict all;
  all["launches"] = counts.launches.load();
  all["waits"] = counts.waits.load();
  all["allocations"] = counts.allocations.load();
  return all;
}

}  // namespace

PYBIND11_MODULE(_cuda, module) {
  static const gs::Offer offer{gs::device::bodies_checksum(), &gs::cuda::devices()};
  module.attr("devices") = py::capsule(&offer, gs::kOfferName);
#ifdef GS_VERSION  // a build without CMake has none, and is taken for one of this version
  module.attr("version") = GS_VERSION;
#endif
  module.def("facts", &facts);
  module.def("counts", &counts);
  module.def("trim", &gs::cuda::trim);
}
