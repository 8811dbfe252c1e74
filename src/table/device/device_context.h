// device_context.h: who works on the columns of a table that kernels reach, and memory where they lie.
#pragma once

#include <memory>

#include "backends/device/machine.h"
#include "table/frame.h"
#include "table/memory.h"
#include "table/sharing.h"

namespace gs::table {

// For one call, on the default stream of a GPU, which waits for all others and all others for it; or on the host where
// its backend has a machine.
class DeviceContext {
 public:
  DeviceContext(const Sharing& sharing, int device);

  device::Machine& machine() const { return *machine_; }
  int device() const { return device_; }
  bool reaches_host() const { return device_ == kHost; }

  // Memory of results and of selections, given back in the order of the stream. Padded to lines, as that of the host.
  NewBuffer allocate(int64_t bytes) const;
  // A copy of the host's memory.
  NewBuffer upload(const void* host, int64_t bytes) const;

 private:
  std::unique_ptr<device::Machine> machine_;
  int device_;
};

// What a launch has reported.
class Reported {
 public:
  explicit Reported(device::Machine& machine) : machine_(machine), status_(machine.status()) {}
  Reported(const Reported&) = delete;
  Reported& operator=(const Reported&) = delete;
  ~Reported();
  device::Status* status() const { return status_; }
  device::Status read() { return machine_.read_status(std::exchange(status_, nullptr)); }

 private:
  device::Machine& machine_;
  device::Status* status_;
};

}  // namespace gs::table
