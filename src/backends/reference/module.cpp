// module.cpp: the extension module `gatherscatter._reference`: kernel bodies for the CPU in the place of a GPU.
#include <pybind11/pybind11.h>

#include "backends/device/bodies.h"
#include "backends/reference/host_machine.h"

namespace py = pybind11;

PYBIND11_MODULE(_reference, module) {
  static const gs::Offer offer{gs::device::bodies_checksum(), &gs::reference::devices()};
  module.attr("devices") = py::capsule(&offer, gs::kOfferName);
}
