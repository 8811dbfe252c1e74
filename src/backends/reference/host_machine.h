// host_machine.h: the emulated GPU, which runs kernel bodies on the CPU, block by block and thread by thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "backends/devices.h"

namespace gs::reference {

struct Settings {
  std::optional<uint64_t> shuffle;  // seed: blocks run in random order, and new memory holds arbitrary bytes
  int64_t blocks = 1024;            // the value of resident_blocks()
  bool is_hidden = false;           // its memory is device memory (device_memory.h), not host memory
};

// Reads the seed from GS_REFERENCE_SHUFFLE=<seed>.
Settings settings_from_environment();

class HostMachine final : public device::Machine {
 public:
  explicit HostMachine(const Settings& settings = {}, int device = 0, uintptr_t stream = 0);

  const char* name() const override { return "reference"; }
  int64_t resident_blocks() const override { return settings_.blocks; }
  void interrupt_by(bool (*asked)()) override { interrupted_ = asked; }
  void launch(int kernel, int64_t blocks, const void* body, std::size_t bytes) override;
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  void clear(void* memory, int64_t bytes) override;
  void copy(void* target, const void* source, int64_t bytes) override;
  void write(void* target, const void* host, int64_t bytes) override;
  void read(void* host, const void* source, int64_t bytes) override;
  device::Status* status() override;
  device::Status read_status(device::Status* status) override;
  std::unique_ptr<device::Receipt> later(device::Status* status) override;
  void sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) override;
  void exclusive_sum(int64_t* values, int64_t count) override;
  bool is_capturing() const override;
  void synchronize() override;
  void wait_for(uintptr_t other) override;
  void go_before(uintptr_t other) override;

 private:
  device::Status taken_back(device::Status* status);

  Settings settings_;
  int device_;
  uintptr_t stream_;
  std::mt19937_64 random_;
  bool (*interrupted_)() = nullptr;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

// Two emulated GPUs, whose memory the host cannot access (device_memory.h). Their kernels can access host memory as
// well, which the reference backend needs for host arrays.
const Devices& devices();

}  // namespace gs::reference
