// offer.cpp: validates and registers the modules that run device kernels.
#include "bindings/devices/offer.h"

#include <cstring>

#include "backends/backend.h"
#include "backends/device/bodies/bodies.h"
#include "backends/devices.h"
#include "backends/reference/reference_backend.h"

namespace gs {
namespace {

const Devices& devices_in(const py::capsule& capsule) {
  const char* name = capsule.name();
  if (name == nullptr || std::strcmp(name, kOfferName) != 0)
    throw py::type_error(std::string("expected a capsule named ") + kOfferName);
  const auto* offer = capsule.get_pointer<const Offer>();
  if (offer->bodies != device::bodies_checksum())
    throw py::import_error(
        "this module and gatherscatter._core were built from different sources; reinstall gatherscatter");
  return *offer->devices;
}

}  // namespace

void bind_offer(py::module_& module) {
  module.def("offer_devices", [](const py::capsule& capsule) { offer_devices(&devices_in(capsule)); });
}

void load_reference() {
  if (std::strcmp(host_backend().name(), "reference") != 0) return;
  reference::run_on(devices_in(py::module_::import("gatherscatter._reference").attr("devices")));
}

}  // namespace gs
