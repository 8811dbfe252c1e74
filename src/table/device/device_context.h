// device_context.h: provides the machine of one table call and memory that its kernels reach.
#pragma once

#include <memory>

#include "backends/device/machine.h"
#include "table/frame.h"
#include "table/memory.h"
#include "table/sharing.h"

namespace gs::table {

// The machine of one call. On a GPU it uses the default stream, which waits for all other streams and for which all
// other streams wait. For kHost it is the machine of the host's backend, if that has one.
class DeviceContext {
 public:
  DeviceContext(const Sharing& sharing, int device);

  device::Machine& machine() const { return *machine_; }
  int device() const { return device_; }
  bool reaches_host() const { return device_ == kHost; }

  // Allocates memory for results and selections, which is released in the order of the stream. It is padded to cache
  // lines, like the memory of table/memory.h.
  NewBuffer allocate(int64_t bytes) const;
  // Copies `bytes` of host memory into memory that the machine reaches.
  NewBuffer upload(const void* host, int64_t bytes) const;

 private:
  std::unique_ptr<device::Machine> machine_;
  int device_;
};

// Owns a status of the machine, to which launches report. The destructor returns a status that was not read, because
// the machine takes each status back by read_status.
class ReportedStatus {
 public:
  explicit ReportedStatus(device::Machine& machine) : machine_(machine), status_(machine.status()) {}
  ReportedStatus(const ReportedStatus&) = delete;
  ReportedStatus& operator=(const ReportedStatus&) = delete;
  ~ReportedStatus();
  device::Status* status() const { return status_; }
  device::Status read() { return machine_.read_status(std::exchange(status_, nullptr)); }

 private:
  device::Machine& machine_;
  device::Status* status_;
};

}  // namespace gs::table
