// backend.cpp: defines the default HostBackend::new_machine, which needs the complete type device::Machine.
#include "backends/backend.h"

#include "backends/device/machine.h"

namespace gs {

std::unique_ptr<device::Machine> HostBackend::new_machine() const {
  return nullptr;
}

}  // namespace gs
