// resources.cpp: see resources.h.
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
// Not destroyed at exit, when other threads may still be at work.
std::vector<std::unique_ptr<Resources>>& made() {
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

Staging::Chunk Staging::take(int64_t bytes) {
  const std::size_t size = size_class(bytes);
  std::optional<Lent> oldest;
  {
    const std::lock_guard lock(mutex_);
    collect(size);
    if (free_[size].empty() && bytes_ >= kInAll) {
      const auto found = std::find_if(lent_.begin(), lent_.end(),
                                      [&](const Lent& lent) { return size_class(lent.block.bytes) == size; });
      if (found != lent_.end()) {
        oldest = *found;
        lent_.erase(found);
      }
    }
    if (!oldest && !free_[size].empty()) {
      const Chunk block = free_[size].back();
      free_[size].pop_back();
      return block;
    }
  }
  const BesideCapture beside;
  if (oldest) {
    counts().waits.fetch_add(1, std::memory_order_relaxed);
    const cudaError_t error = cudaEventSynchronize(oldest->event);
    events_.give(oldest->event);
    check(error, "cudaEventSynchronize");
    return oldest->block;
  }
  const int64_t rounded = kLeast << size;
  const Chunk block{pinned(rounded), rounded};
  const std::lock_guard lock(mutex_);
  bytes_ += rounded;
  return block;
}

void Staging::give(Chunk block, cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    lent_.push_back({block, event});
  } catch (const std::bad_alloc&) {  // the block is lost, and safe
  }
}

void Staging::keep(Chunk block) noexcept {
  const std::lock_guard lock(mutex_);
  bytes_ -= block.bytes;
}

void Staging::collect(std::size_t size) noexcept {
  const auto came_back = [&](const Lent& lent) {
    if (!is_done(lent.event)) return false;
    try {
      free_[size_class(lent.block.bytes)].push_back(lent.block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    events_.give(lent.event);
    return true;
  };
  while (!lent_.empty() && came_back(lent_.front())) lent_.pop_front();
  // A stream with much to do may hold up those of others.
  if (free_[size].empty()) std::erase_if(lent_, came_back);
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
  for (const Chunk& chunk : chunks_) {
    const auto offset = reinterpret_cast<uintptr_t>(far) - reinterpret_cast<uintptr_t>(chunk.far);
    if (offset < kChunk * sizeof(Far))
      return {&chunk.far[offset / sizeof(Far)].status, &chunk.near[offset / sizeof(Far)]};
  }
  throw device::DeviceError("a status of another device");
}

void StatusWords::give(StatusPair word) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(word);  // has room for all (grow)
}

void StatusWords::give(StatusPair word, cudaEvent_t event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    lent_.push_back({word, event});
  } catch (const std::bad_alloc&) {  // the word is lost, and safe
  }
}

void StatusWords::clean(StatusPair word) {
  const BesideCapture beside;
  check(cudaMemsetAsync(word.far, 0, sizeof(device::Status), aside_), "cudaMemsetAsync");
  wait(aside_);
  *word.near = device::Status();
}

void StatusWords::collect() noexcept {
  while (!lent_.empty() && is_done(lent_.front().event)) {
    const auto [word, event] = lent_.front();
    lent_.pop_front();
    events_.give(event);
    try {
      if (!word.near->is_clean()) clean(word);
      free_.push_back(word);
    } catch (const std::exception&) {  // the device is broken, as the next call will say
    }
  }
}

void StatusWords::grow() {
  const BesideCapture beside;
  chunks_.reserve(chunks_.size() + 1);
  free_.reserve((chunks_.size() + 1) * kChunk);
  auto* const near = reinterpret_cast<device::Status*>(pinned(kChunk * sizeof(device::Status)));
  std::fill_n(near, kChunk, device::Status());
  auto* const far = reinterpret_cast<Far*>(far_memory(kChunk * sizeof(Far)));
  check(cudaMemsetAsync(far, 0, kChunk * sizeof(Far), aside_), "cudaMemsetAsync");
  wait(aside_);
  chunks_.push_back({far, near});
  for (int i = kChunk; i-- > 0;) free_.push_back({&far[i].status, &near[i]});
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
  // Kept when somebody waits for the GPU, where a pool else gives all back.
  auto threshold = static_cast<cuuint64_t>(std::min<int64_t>(int64_t{1} << 30, facts.memory / 16));
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");
}

std::byte* Memory::allocate(int64_t bytes, cudaStream_t stream) {
  const int64_t size = std::max<int64_t>(bytes, 1);
  if (pool_ == nullptr) {
    if (is_capturing(stream))
      throw device::DeviceError("this GPU has no memory pools, without which nothing can be captured");
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
  const auto captured = [](cudaStream_t one) {  // or nobody knows
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !succeeded(cudaStreamIsCapturing(one, &status)) || status != cudaStreamCaptureStatusNone;
  };
  const std::lock_guard lock(mutex_);
  try {
    waiting_.push_back({memory, stream});
  } catch (const std::bad_alloc&) {
    return;  // lost, and safe
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
  auto& all = made();
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
  for (const auto& one : made()) {
    if (one != nullptr) return one->device;
  }
  return -1;
}

int64_t trim() {
  if (is_forked()) return 0;
  const std::lock_guard lock(devices_mutex);
  int64_t bytes = 0;
  for (const auto& one : made()) {
    if (one == nullptr) continue;
    const DeviceGuard guard(one->device);
    const BesideCapture beside;
    bytes += one->memory.trim();
  }
  return bytes;
}

}  // namespace gs::cuda
