// devices.cpp: implements the interface Devices by CUDA: kinds of memory, machines, and memory for results.
#include "backends/cuda/devices.h"

#include <optional>

#include "backends/cuda/machine.h"

namespace gs::cuda {
namespace {

cudaStream_t stream_of(uintptr_t handle) {
  return reinterpret_cast<cudaStream_t>(handle);
}

class CudaDevices final : public Devices {
 public:
  const char* name() const override { return "cuda"; }
  int count() const override { return static_cast<int>(driver().devices.size()); }

  std::string description(int device) const override {
    const DeviceFacts& facts = usable(device);
    return facts.name + ", compute capability " + std::to_string(facts.major) + "." + std::to_string(facts.minor) +
           ", " + std::to_string(facts.memory >> 20) + " MiB";
  }

  MemoryPlace place_of(const void* address) const override {
    if (count() == 0 || is_forked()) return {};
    // The query would create a context on the first GPU for a thread without one, although the program may not use that
    // GPU.
    std::optional<DeviceGuard> guard;
    if (const int device = device_in_use(); device >= 0) guard.emplace(device);
    cudaPointerAttributes found{};
    if (!succeeded(cudaPointerGetAttributes(&found, address))) return {};
    switch (found.type) {
      case cudaMemoryTypeHost: return {MemoryPlace::Kind::pinned_host, found.device};
      case cudaMemoryTypeDevice: return {MemoryPlace::Kind::device, found.device};
      case cudaMemoryTypeManaged: return {MemoryPlace::Kind::managed, found.device};
      default: return {};
    }
  }

  std::unique_ptr<device::Machine> machine(int device, uintptr_t stream) const override {
    return std::make_unique<CudaMachine>(resources(device), stream_of(stream));
  }

  // The memory of a result outlives a graph that is being captured, so it is not allocated within the graph.
  std::byte* allocate(int device, uintptr_t stream, int64_t bytes) const override {
    Resources& own = resources(device);
    const DeviceGuard guard(device);
    if (!is_capturing(stream_of(stream))) return own.memory.allocate(bytes, stream_of(stream));
    const BesideCapture beside;
    std::byte* memory = own.memory.allocate(bytes, own.aside);
    counts().waits.fetch_add(1, std::memory_order_relaxed);
    check(cudaStreamSynchronize(own.aside), "cudaStreamSynchronize");
    return memory;
  }

  void release(int device, uintptr_t stream, std::byte* memory) const noexcept override {
    if (memory == nullptr || is_forked()) return;
    try {
      Resources& own = resources(device);
      const DeviceGuard guard(device);
      own.memory.release_outside(memory, stream_of(stream));
    } catch (const std::exception&) {  // the context is destroyed, and the memory with it
    }
  }
};

}  // namespace

const Devices& devices() {
  static const auto* const instance = new CudaDevices;
  return *instance;
}

}  // namespace gs::cuda
