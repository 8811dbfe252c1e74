// backend.cpp: what a host backend does unless it says otherwise, where a header cannot: a machine is complete here
// only.
#include "backends/backend.h"

#include "backends/device/machine.h"

namespace gs {

std::unique_ptr<device::Machine> HostBackend::new_machine() const {
  return nullptr;
}

}  // namespace gs
