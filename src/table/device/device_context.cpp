// device_context.cpp: implements device_context.h.
#include "table/device/device_context.h"

#include <algorithm>
#include <string>

#include "backends/devices.h"

namespace gs::table {
namespace {

std::unique_ptr<device::Machine> machine_for(const Sharing& sharing, int device) {
  if (device == kHost) return sharing.backend.new_machine();
  if (devices() == nullptr || device < 0 || device >= devices()->count()) {
    throw device::DeviceError("no loaded backend has a GPU " + std::to_string(device));
  }
  return devices()->machine(device, 0);
}

}  // namespace

DeviceContext::DeviceContext(const Sharing& sharing, int device)
    : machine_(machine_for(sharing, device)), device_(device) {
  machine_->interrupt_by(sharing.options.interrupted);
}

NewBuffer DeviceContext::allocate(int64_t bytes) const {
  if (device_ == kHost) return table::allocate(bytes);
  const Devices* const all = devices();
  NewBuffer fresh;
  fresh.data = all->allocate(device_, 0, std::max<int64_t>(lines_for(bytes), 1) * 64);
  fresh.buffer.data = fresh.data;
  fresh.buffer.owner = std::shared_ptr<void>(fresh.data, [all, device = device_](void* data) noexcept {
    all->release(device, 0, static_cast<std::byte*>(data));
  });
  return fresh;
}

NewBuffer DeviceContext::upload(const void* host, int64_t bytes) const {
  const NewBuffer fresh = allocate(bytes);
  if (bytes > 0) machine_->write(fresh.data, host, bytes);
  return fresh;
}

ReportedStatus::~ReportedStatus() {
  if (status_ == nullptr) return;
  try {
    machine_.read_status(status_);
  } catch (...) {
  }
}

}  // namespace gs::table
