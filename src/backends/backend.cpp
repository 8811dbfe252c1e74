// backend.cpp: defines what a backend does that is neither asynchronous nor has a machine.
#include "backends/backend.h"

#include <stdexcept>

#include "backends/device/machine.h"

namespace gs {

std::shared_ptr<device::Receipt> Backend::move_later(const Plan&, const Buffers&, Direction) const {
  throw std::logic_error("this backend is not asynchronous");
}

std::shared_ptr<device::Receipt> Backend::reduce_later(const Plan&, const Buffers&, const Combine&) const {
  throw std::logic_error("this backend is not asynchronous");
}

std::unique_ptr<device::Machine> HostBackend::new_machine() const {
  return nullptr;
}

}  // namespace gs
