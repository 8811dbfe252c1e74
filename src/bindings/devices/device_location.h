// device_location.h: says where the memory of an operand lies, if it is not plain host memory.
#pragma once

#include <optional>

#include "bindings/arguments/dlpack.h"

namespace gs {

struct DeviceLocation {
  dlpack::Device device{};
  // gatherscatter._libraries.device_adapter.DeviceAdapter, for arrays of all libraries but torch.
  pybind11::object adapter;
  // The stream that orders the uses of the memory. None: its library has made the stream of the call wait for them.
  std::optional<uintptr_t> stream;
  bool is_copy = false;  // the memory is a copy of a host array
};

}  // namespace gs
