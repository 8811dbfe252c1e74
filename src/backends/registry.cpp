// registry.cpp: chooses the backend for host arrays, and holds the Devices for arrays on GPUs.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "backends/backend.h"
#include "backends/devices.h"

namespace gs {
namespace {

const HostBackend& chosen() {
  const char* setting = std::getenv("GS_BACKEND");
  const std::string_view name = setting == nullptr ? "cpu" : setting;
  if (name == "cpu") return cpu::backend();
  if (name == "reference") return reference::backend();
  throw std::invalid_argument("GS_BACKEND=" + std::string(name) + ": expected cpu or reference");
}

}  // namespace

const HostBackend& host_backend() {
  static const HostBackend& backend = chosen();
  return backend;
}

namespace {
std::atomic<const Devices*> offered{nullptr};
}

const Devices* devices() {
  return offered.load(std::memory_order_acquire);
}
void offer_devices(const Devices* devices) {
  offered.store(devices, std::memory_order_release);
}

}  // namespace gs
