// resources.cpp: allocates, hands out and reclaims the resources that calls share on a GPU.
#include "backends/cuda/resources.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "backends/device/machine.h"

namespace gs::cuda {
namespace {

// Pinned memory that every device can copy from and to.
std::byte* pinned(int64_t bytes) {
  void* memory = nullptr;
  counts().allocations.fetch_add(1, std::memory_order_relaxed);
  check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocPortable), "cudaHostAlloc");
  return static_cast<std::byte*>(memory);
}

std::byte* far_memory(int64_t bytes) {
  void* memory = nullptr;
  counts().allocations.fetch_add(1, std::memory_order_relaxed);
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "cudaMalloc");
  return static_cast<std::byte*>(memory);
}

void wait(cudaStream_t stream) {
  counts().waits.fetch_add(1, std::memory_order_relaxed);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

std::size_t size_class(int64_t bytes) {
  const auto units = static_cast<uint64_t>((std::max<int64_t>(bytes, 1) - 1) / Staging::kLeast);
  return static_cast<std::size_t>(std::bit_width(units));
}

std::mutex devices_mutex;
// Never destroyed, because other threads may still use it at exit.
std::vector<std::unique_ptr<Resources>>& all_resources() {
  static auto* const all = new std::vector<std::unique_ptr<Resources>>;
  return *all;
}

}  // namespace

// ---- events

cudaEvent_t Events::record(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
    }
  }
  if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  const cudaError_t error = cudaEventRecord(event, stream);
  if (error != cudaSuccess) give(event);
  check(error, "cudaEventRecord");
  return event;
}

void Events::give(cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    free_.push_back(event);
  } catch (const std::bad_alloc&) {
    succeeded(cudaEventDestroy(event));
  }
}

bool is_done(cudaEvent_t event) noexcept {
  const BesideCapture beside;
  const cudaError_t error = cudaEventQuery(event);
  succeeded(error);
  return error != cudaErrorNotReady;
}

// ---- staging

Staging::StagingBuffer Staging::take(int64_t bytes) {
  const std::size_t size = size_class(bytes);
  std::optional<InFlight> oldest;
  {
    const std::lock_guard lock(mutex_);
    collect(size);
    if (free_[size].empty() && bytes_ >= kInAll) {
      const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                      [&](const InFlight& one) { return size_class(one.buffer.bytes) == size; });
      if (found != in_flight_.end()) {
        oldest = *found;
        in_flight_.erase(found);
      }
    }
    if (!oldest && !free_[size].empty()) {
      const StagingBuffer buffer = free_[size].back();
      free_[size].pop_back();
      return buffer;
    }
  }
  const BesideCapture beside;
  if (oldest) {
    counts().waits.fetch_add(1, std::memory_order_relaxed);
    const cudaError_t error = cudaEventSynchronize(oldest->event);
    events_.give(oldest->event);
    check(error, "cudaEventSynchronize");
    return oldest->buffer;
  }
  const int64_t rounded = kLeast << size;
  const StagingBuffer buffer{pinned(rounded), rounded};
  const std::lock_guard lock(mutex_);
  bytes_ += rounded;
  return buffer;
}

void Staging::give(StagingBuffer buffer, cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    in_flight_.push_back({buffer, event});
  } catch (const std::bad_alloc&) {  // the buffer is not reused, which is safe
  }
}

void Staging::keep(StagingBuffer buffer) noexcept {
  const std::lock_guard lock(mutex_);
  bytes_ -= buffer.bytes;
}

void Staging::collect(std::size_t size) noexcept {
  const auto reclaimed = [&](const InFlight& one) {
    if (!is_done(one.event)) return false;
    try {
      free_[size_class(one.buffer.bytes)].push_back(one.buffer);
    } catch (const std::bad_alloc&) {
      return false;
    }
    events_.give(one.event);
    return true;
  };
  while (!in_flight_.empty() && reclaimed(in_flight_.front())) in_flight_.pop_front();
  // The oldest buffer may belong to a stream with a long queue, while later buffers of other streams are done.
  if (free_[size].empty()) std::erase_if(in_flight_, reclaimed);
}

// ---- status words

StatusWords::StatusPair StatusWords::take() {
  const std::lock_guard lock(mutex_);
  collect();
  if (free_.empty()) grow();
  const StatusPair word = free_.back();
  free_.pop_back();
  return word;
}

StatusWords::StatusPair StatusWords::of(const device::Status* far) {
  const std::lock_guard lock(mutex_);
  for (const PairArrays& pairs : arrays_) {
    const auto offset = reinterpret_cast<uintptr_t>(far) - reinterpret_cast<uintptr_t>(pairs.far);
    if (offset < kPairs * sizeof(Far))
      return {&pairs.far[offset / sizeof(Far)].status, &pairs.near[offset / sizeof(Far)]};
  }
  throw device::DeviceError("this status does not belong to this device");
}

void StatusWords::give(StatusPair word) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(word);  // does not throw: `grow` has reserved room for all pairs
}

void StatusWords::give(StatusPair word, cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    in_flight_.push_back({word, event});
  } catch (const std::bad_alloc&) {  // the pair is not reused, which is safe
  }
}

void StatusWords::clean(StatusPair word) {
  const BesideCapture beside;
  check(cudaMemsetAsync(word.far, 0, sizeof(device::Status), aside_), "cudaMemsetAsync");
  wait(aside_);
  *word.near = device::Status();
}

void StatusWords::collect() noexcept {
  while (!in_flight_.empty() && is_done(in_flight_.front().event)) {
    const auto [word, event] = in_flight_.front();
    in_flight_.pop_front();
    events_.give(event);
    try {
      if (!word.near->is_clean()) clean(word);
      free_.push_back(word);
    } catch (const std::exception&) {  // the device is broken, which the next call reports
    }
  }
}

void StatusWords::grow() {
  const BesideCapture beside;
  arrays_.reserve(arrays_.size() + 1);
  free_.reserve((arrays_.size() + 1) * kPairs);
  auto* const near = reinterpret_cast<device::Status*>(pinned(kPairs * sizeof(device::Status)));
  std::fill_n(near, kPairs, device::Status());
  auto* const far = reinterpret_cast<Far*>(far_memory(kPairs * sizeof(Far)));
  check(cudaMemsetAsync(far, 0, kPairs * sizeof(Far), aside_), "cudaMemsetAsync");
  wait(aside_);
  arrays_.push_back({far, near});
  for (int i = kPairs; i-- > 0;) free_.push_back({&far[i].status, &near[i]});
}

// ---- memory

Memory::Memory(int device, const DeviceFacts& facts) {
  if (!facts.has_pools) return;
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypeNone;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = device;
  check(cudaMemPoolCreate(&pool_, &props), "cudaMemPoolCreate");
  // The pool keeps this much memory when the host waits for the GPU; by default a pool would give all of it back then.
  auto threshold = static_cast<cuuint64_t>(std::min<int64_t>(int64_t{1} << 30, facts.memory / 16));
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");
}

std::byte* Memory::allocate(int64_t bytes, cudaStream_t stream) {
  const int64_t size = std::max<int64_t>(bytes, 1);
  if (pool_ == nullptr) {
    if (is_capturing(stream))
      throw device::DeviceError(
          "this GPU has no memory pools, and without them a stream cannot be captured; call this before the capture");
    const BesideCapture beside;
    return far_memory(size);
  }
  void* memory = nullptr;
  check(cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(size), pool_, stream), "cudaMallocFromPoolAsync");
  return static_cast<std::byte*>(memory);
}

void Memory::release(std::byte* memory, cudaStream_t stream) noexcept {
  if (pool_ != nullptr) {
    succeeded(cudaFreeAsync(memory, stream));
    return;
  }
  const BesideCapture beside;
  counts().waits.fetch_add(1, std::memory_order_relaxed);
  if (succeeded(cudaStreamSynchronize(stream))) succeeded(cudaFree(memory));
}

void Memory::release_outside(std::byte* memory, cudaStream_t stream) noexcept {
  const auto captured = [](cudaStream_t one) {  // true as well if CUDA cannot tell
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !succeeded(cudaStreamIsCapturing(one, &status)) || status != cudaStreamCaptureStatusNone;
  };
  const std::lock_guard lock(mutex_);
  try {
    waiting_.push_back({memory, stream});
  } catch (const std::bad_alloc&) {
    return;  // the memory leaks, which is safe
  }
  for (std::size_t i = waiting_.size(); i-- > 0;) {
    if (captured(waiting_[i].stream)) continue;
    release(waiting_[i].memory, waiting_[i].stream);
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }
}

int64_t Memory::trim() {
  if (pool_ == nullptr) return 0;
  const auto reserved = [&] {
    cuuint64_t bytes = 0;
    check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes), "cudaMemPoolGetAttribute");
    return static_cast<int64_t>(bytes);
  };
  const int64_t before = reserved();
  check(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo");
  return before - reserved();
}

// ---- devices

Resources::Resources(int number, const DeviceFacts& facts)
    : device(number), processors(facts.processors), aside(new_stream()), memory(number, facts) {}

Resources& resources(int device) {
  const DeviceFacts& facts = usable(device);
  const std::lock_guard lock(devices_mutex);
  auto& all = all_resources();
  if (all.empty()) all.resize(driver().devices.size());
  std::unique_ptr<Resources>& found = all[static_cast<std::size_t>(device)];
  if (found == nullptr) {
    const DeviceGuard guard(device);
    const BesideCapture beside;
    found = std::make_unique<Resources>(device, facts);
  }
  return *found;
}

int device_in_use() {
  const std::lock_guard lock(devices_mutex);
  for (const auto& one : all_resources()) {
    if (one != nullptr) return one->device;
  }
  return -1;
}

int64_t trim() {
  if (is_forked()) return 0;
  const std::lock_guard lock(devices_mutex);
  int64_t bytes = 0;
  for (const auto& one : all_resources()) {
    if (one == nullptr) continue;
    const DeviceGuard guard(one->device);
    const BesideCapture beside;
    bytes += one->memory.trim();
  }
  return bytes;
}

}  // namespace gs::cuda
