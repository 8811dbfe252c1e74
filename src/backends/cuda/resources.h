// resources.h: the events, pinned memory, status words and memory pools that all calls of the process share on a GPU.
// All of them are thread-safe and kept for reuse, so that no call needs a slow function of the driver.
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
  // Returns an event that has just been recorded in this stream.
  cudaEvent_t record(cudaStream_t stream);
  void give(cudaEvent_t event) noexcept;

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
};

// Returns true if all work before the event is done. An event of a destroyed context counts as done.
bool is_done(cudaEvent_t event) noexcept;

// Pinned memory through which host data is copied to the GPU, so that the caller may change or free its data at once.
class Staging {
 public:
  struct StagingBuffer {
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };
  static constexpr int64_t kLeast = 64 << 10;
  static constexpr int64_t kMost = 4 << 20;    // of one buffer
  static constexpr int64_t kInAll = 64 << 20;  // beyond this total, `take` waits for copies in flight

  explicit Staging(Events& events) : events_(events) {}
  StagingBuffer take(int64_t bytes);  // bytes <= kMost
  // The buffer is reused once the event is done; the event is then given to `events`.
  void give(StagingBuffer buffer, cudaEvent_t event) noexcept;
  // A graph copies from this buffer at every replay, so the buffer is never reused.
  void keep(StagingBuffer buffer) noexcept;

 private:
  struct InFlight {
    StagingBuffer buffer;
    cudaEvent_t event;
  };
  static constexpr int kSizes = 7;  // powers of two from kLeast to kMost
  void collect(std::size_t size) noexcept;

  Events& events_;
  std::mutex mutex_;
  std::array<std::vector<StagingBuffer>, kSizes> free_;
  std::deque<InFlight> in_flight_;
  int64_t bytes_ = 0;
};

// Status words in the memory of the GPU, each with a word in pinned memory that it is copied to. A free pair is clean.
class StatusWords {
 public:
  struct StatusPair {
    device::Status* far = nullptr;
    device::Status* near = nullptr;
  };

  StatusWords(Events& events, cudaStream_t aside) : events_(events), aside_(aside) {}
  StatusPair take();
  StatusPair of(const device::Status* far);
  void give(StatusPair word) noexcept;  // the pair is clean, and no submitted work uses it
  // The pair is reused once the event is done, and cleaned before if `near` is not clean then.
  void give(StatusPair word, cudaEvent_t event) noexcept;
  void clean(StatusPair word);  // waits for this operation alone

 private:
  static constexpr int kPairs = 1024;  // pairs that are allocated together
  struct alignas(32) Far {             // the GPU's caches fetch 32 bytes at a time
    device::Status status;
  };
  struct PairArrays {
    Far* far;
    device::Status* near;
  };
  struct PendingPair {
    StatusPair word;
    cudaEvent_t event;
  };
  void collect() noexcept;
  void grow();

  Events& events_;
  cudaStream_t aside_;
  std::mutex mutex_;
  std::vector<PairArrays> arrays_;
  std::vector<StatusPair> free_;
  std::deque<PendingPair> in_flight_;
};

// Memory that is allocated and released in stream order. Without memory pools (some virtual GPUs) every allocation and
// release is slow.
class Memory {
 public:
  Memory(int device, const DeviceFacts& facts);
  std::byte* allocate(int64_t bytes, cudaStream_t stream);
  void release(std::byte* memory, cudaStream_t stream) noexcept;
  // As `release`, for memory that may have been allocated before or beside a capture of the stream. The release waits
  // for the end of the capture, because a graph frees only memory that it allocated.
  void release_outside(std::byte* memory, cudaStream_t stream) noexcept;
  int64_t trim();  // returns the bytes given back to the driver

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
  const cudaStream_t aside;  // a stream for operations that must not wait for other work
  Events events;
  Staging staging{events};
  StatusWords words{events, aside};
  Memory memory;
  std::array<std::atomic<int>, device::kBodies> at_a_time{};  // blocks of each kernel that run at a time; 0: not loaded
};

// The resources of a device; throws device::DeviceError if this process cannot use the device. They are made at the
// first call and never destroyed, because the driver may already be unloaded at exit.
Resources& resources(int device);

// The number of a device that has a context because this module uses it; -1 if there is none.
int device_in_use();

// Gives memory that is kept for reuse back to the driver, on all devices. Returns the number of bytes.
int64_t trim();

}  // namespace gs::cuda
