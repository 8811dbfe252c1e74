// devices.h: the interface by which the core uses modules that run device kernels (`_cuda`, `_reference`).
//
// Such a module has one attribute, `devices`: a PyCapsule named kOfferName that points to an Offer which stays valid as
// long as the module. The Python side passes the capsule to `_core.offer_devices`, once; with GS_BACKEND=reference the
// core itself imports `_reference` and uses its Offer for host arrays. The core refuses a module that was built with
// other kernel bodies than its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/device/machine.h"

namespace gs {

// The kind of memory that an address lies in, and its device, as the driver reports them.
struct MemoryPlace {
  enum class Kind : uint8_t { host, pinned_host, device, managed };
  Kind kind = Kind::host;
  int device = 0;
};

class Devices {
 public:
  virtual ~Devices() = default;
  virtual const char* name() const = 0;  // "cuda", or "reference" for the emulated GPU
  virtual int count() const = 0;
  virtual std::string description(int device) const = 0;
  virtual MemoryPlace place_of(const void* address) const = 0;
  // A machine that puts all its work into this stream. It is cheap to make, serves one call and is used by one thread.
  virtual std::unique_ptr<device::Machine> machine(int device, uintptr_t stream) const = 0;
  // Memory for results, if the library of the operands allocates none; allocated and released in stream order.
  virtual std::byte* allocate(int device, uintptr_t stream, int64_t bytes) const = 0;
  virtual void release(int device, uintptr_t stream, std::byte* memory) const noexcept = 0;
};

// What the capsule of a module points to.
struct Offer {
  uint64_t bodies = 0;  // device::bodies_checksum() of the module
  const Devices* devices = nullptr;
};
inline constexpr const char* kOfferName = "gatherscatter.Offer";

// The devices for arrays on GPUs; null until a module offers some (once per process).
const Devices* devices();
void offer_devices(const Devices* devices);

}  // namespace gs
