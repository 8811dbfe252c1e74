// machine.h: the machine that runs kernel bodies on a stream of a GPU.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "backends/cuda/resources.h"
#include "backends/device/machine.h"

namespace gs::cuda {

class CudaMachine final : public device::Machine {
 public:
  CudaMachine(Resources& resources, cudaStream_t stream) : resources_(resources), stream_(stream) {}
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;
  ~CudaMachine() override;

  const char* name() const override { return "cuda"; }
  // No limit here: `launch` limits the grid by kernel, because a kernel's registers decide how many of its blocks run
  // at a time.
  int64_t resident_blocks() const override { return std::numeric_limits<int32_t>::max(); }
  // An estimate.
  int64_t busy_warps() const override { return int64_t{16} * resources_.processors; }
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
  void wait_for(uintptr_t stream) override;
  void go_before(uintptr_t stream) override;
  void wait_for_event(const void* event) override;

 private:
  void copy_to(void* target, const void* source, int64_t bytes);
  void wait_here(const char* what);  // throws if the stream is being captured
  void give_staging() noexcept;
  void forget(device::Status* status);
  void order(cudaStream_t first, cudaStream_t second);

  Resources& resources_;
  cudaStream_t stream_;
  Staging::StagingBuffer staging_;  // of the last `write`; further writes fill it up
  int64_t staged_ = 0;
  std::vector<device::Status*> statuses_;  // given out by `status` and not yet given back
};

}  // namespace gs::cuda
