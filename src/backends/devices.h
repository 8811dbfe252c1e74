// devices.h: who runs device kernels for this process: modules of their own, which the core knows only by this.
//
// Such a module (`_cuda`, `_reference`) has one attribute, `devices`: a PyCapsule named kOfferName that points to an
// Offer which lives as long as the module. The Python side hands it to `_core.offer_devices`, once; with
// GS_BACKEND=reference the core fetches that of `_reference` itself, for host arrays. The core refuses modules with
// other bodies than its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/device/machine.h"

namespace gs {

// Where an address lies, as the driver knows it.
struct MemoryPlace {
  enum class Kind : uint8_t { host, pinned_host, device, managed };
  Kind kind = Kind::host;
  int device = 0;
};

class Devices {
 public:
  virtual ~Devices() = default;
  virtual const char* name() const = 0;  // "cuda", or "reference" where the CPU plays a GPU
  virtual int count() const = 0;
  virtual std::string description(int device) const = 0;
  virtual MemoryPlace place_of(const void* address) const = 0;
  // All work goes to this stream. Cheap to make, for one call, and used by one thread.
  virtual std::unique_ptr<device::Machine> machine(int device, uintptr_t stream) const = 0;
  // Memory for results whose library brings none, in the order of the stream.
  virtual std::byte* allocate(int device, uintptr_t stream, int64_t bytes) const = 0;
  virtual void release(int device, uintptr_t stream, std::byte* memory) const noexcept = 0;
};

// What a module offers.
struct Offer {
  uint64_t bodies = 0;  // device::bodies_checksum() of the module
  const Devices* devices = nullptr;
};
inline constexpr const char* kOfferName = "gatherscatter.Offer";

// Who serves arrays on GPUs: null until a module offers some (once for a process).
const Devices* devices();
void offer_devices(const Devices* devices);

}  // namespace gs
