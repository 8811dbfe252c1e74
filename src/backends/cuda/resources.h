// resources.h: what a GPU lends to one call after the other, for the whole process: events, pinned memory, status
// words. All of it is thread safe and kept for reuse, so that a call asks the driver for nothing that takes long.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "backends/cuda/call.h"
#include "backends/cuda/driver.h"
#include "backends/device/bodies/bodies.h"
#include "backends/device/bodies/thread.h"

namespace gs::cuda {

class Events {
 public:
  // An event that has been recorded in this stream just now.
  cudaEvent_t record(cudaStream_t stream);
  void give(cudaEvent_t event) noexcept;

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
};

// Whether all that the event stands for is done. An event of a context that died counts as done.
bool is_done(cudaEvent_t event) noexcept;

// Pinned memory through which the host's data goes, so that the caller may change or free it at once.
class Staging {
 public:
  struct Chunk {
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };
  static constexpr int64_t kLeast = 64 << 10;
  static constexpr int64_t kMost = 4 << 20;    // of one block
  static constexpr int64_t kInAll = 64 << 20;  // beyond that, who asks waits for the copies that are under way

  explicit Staging(Events& events) : events_(events) {}
  Chunk take(int64_t bytes);  // at most kMost
  // To be used again once the event has come to pass, which is then given to the others.
  void give(Chunk block, cudaEvent_t event) noexcept;
  // A graph copies from this block whenever it runs: nobody else gets it again.
  void keep(Chunk block) noexcept;

 private:
  struct Lent {
    Chunk block;
    cudaEvent_t event;
  };
  static constexpr int kSizes = 7;  // powers of two from kLeast to kMost
  void collect(std::size_t size) noexcept;

  Events& events_;
  std::mutex mutex_;
  std::array<std::vector<Chunk>, kSizes> free_;
  std::deque<Lent> lent_;
  int64_t bytes_ = 0;
};

// Status words in the memory of the GPU, each with one in pinned memory to copy it to. A free one is clean.
class StatusWords {
 public:
  struct StatusPair {
    device::Status* far = nullptr;
    device::Status* near = nullptr;
  };

  StatusWords(Events& events, cudaStream_t aside) : events_(events), aside_(aside) {}
  StatusPair take();
  StatusPair of(const device::Status* far);
  void give(StatusPair word) noexcept;  // clean, and nothing that was asked for still needs it
  // When the event has come to pass, and `near` then says whether it is clean.
  void give(StatusPair word, cudaEvent_t event) noexcept;
  void clean(StatusPair word);  // waits, for this alone

 private:
  static constexpr int kChunk = 1024;
  struct alignas(32) Far {  // the GPU's caches fetch 32 bytes at a time
    device::Status status;
  };
  struct Chunk {
    Far* far;
    device::Status* near;
  };
  struct Lent {
    StatusPair word;
    cudaEvent_t event;
  };
  void collect() noexcept;
  void grow();

  Events& events_;
  cudaStream_t aside_;
  std::mutex mutex_;
  std::vector<Chunk> chunks_;
  std::vector<StatusPair> free_;
  std::deque<Lent> lent_;
};

// Memory in the order of a stream. Without pools (some virtual GPUs) every allocation and release takes long.
class Memory {
 public:
  Memory(int device, const DeviceFacts& facts);
  std::byte* allocate(int64_t bytes, cudaStream_t stream);
  void release(std::byte* memory, cudaStream_t stream) noexcept;
  // The same for memory that may be from before or beside a capture of the stream: it waits for the end of that,
  // because a graph frees only what it made.
  void release_outside(std::byte* memory, cudaStream_t stream) noexcept;
  int64_t trim();  // bytes given back to the driver

 private:
  struct PendingRelease {
    std::byte* memory;
    cudaStream_t stream;
  };
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  std::vector<PendingRelease> waiting_;
};

struct Resources {
  Resources(int number, const DeviceFacts& facts);  // the device must be the current one

  const int device;
  const int processors;
  const cudaStream_t aside;  // for what must not wait for anybody's work
  Events events;
  Staging staging{events};
  StatusWords words{events, aside};
  Memory memory;
  std::array<std::atomic<int>, device::kBodies> at_a_time{};  // blocks of a kernel on all processors; 0: not loaded
};

// Those of a device that serves this process, else throws device::DeviceError. Made at the first call, never destroyed:
// the driver may be gone by then.
Resources& resources(int device);

// A device that has a context because this module uses it; -1 where none has.
int device_in_use();

// Gives memory that is kept for reuse back to the driver, on all devices; the number of bytes.
int64_t trim();

}  // namespace gs::cuda
