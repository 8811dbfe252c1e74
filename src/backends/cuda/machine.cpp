// machine.cpp: submits launches, copies, statuses, sorts and waits to a stream of a GPU.
#include "backends/cuda/machine.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backends/cuda/kernels.h"

namespace gs::cuda {
namespace {

// The receipt of a status that is copied to the host in a stream; the event follows the copy.
class StreamReceipt final : public device::Receipt {
 public:
  StreamReceipt(Resources& resources, StatusWords::StatusPair word, cudaEvent_t event)
      : resources_(resources), word_(word), event_(event) {}
  StreamReceipt(const StreamReceipt&) = delete;
  StreamReceipt& operator=(const StreamReceipt&) = delete;
  ~StreamReceipt() override {
    if (event_ != nullptr && !is_forked()) resources_.words.give(word_, event_);
  }

  bool is_ready() const override {
    if (event_ == nullptr || is_forked()) return true;
    const DeviceGuard guard(resources_.device);
    return is_done(event_);
  }

  device::Status status() override {
    if (event_ == nullptr) return status_;
    usable(resources_.device);
    const DeviceGuard guard(resources_.device);
    const BesideCapture beside;
    counts().waits.fetch_add(1, std::memory_order_relaxed);
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    status_ = *word_.near;
    if (!status_.is_clean()) resources_.words.clean(word_);
    resources_.words.give(word_);
    resources_.events.give(std::exchange(event_, nullptr));
    return status_;
  }

 private:
  Resources& resources_;
  StatusWords::StatusPair word_;
  cudaEvent_t event_;  // null once the status is read
  device::Status status_;
};

// The receipt of a status that every replay of a graph copies to `near`.
class GraphReceipt final : public device::Receipt {
 public:
  explicit GraphReceipt(device::Status* near) : near_(near) {}
  bool is_ready() const override { return *const_cast<volatile uint64_t*>(&near_->lowest) != 0; }
  device::Status status() override { return std::exchange(*near_, device::Status()); }
  bool is_lasting() const override { return true; }

 private:
  device::Status* near_;
};

cudaStream_t stream_of(uintptr_t handle) {
  return reinterpret_cast<cudaStream_t>(handle);
}

std::size_t size_of(int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

CudaMachine::~CudaMachine() {
  if ((statuses_.empty() && staging_.data == nullptr) || is_forked()) return;
  try {
    const DeviceGuard guard(resources_.device);
    give_staging();
    // An exception left these statuses behind, perhaps with launches that still use them.
    const bool capturing = is_capturing();
    for (device::Status* status : statuses_) {
      if (capturing) continue;  // the graph uses the status
      const StatusWords::StatusPair word = resources_.words.of(status);
      check(cudaMemsetAsync(word.far, 0, sizeof(device::Status), stream_), "cudaMemsetAsync");
      resources_.words.give(word, resources_.events.record(stream_));
    }
  } catch (const std::exception&) {  // the device is broken: the words are not reused, and the next call throws
  }
}

void CudaMachine::launch(int number, int64_t blocks, const void* body, std::size_t bytes) {
  if (blocks <= 0) return;
  const Kernel& found = kernel(number);
  if (found.bytes != bytes)
    throw device::DeviceError("kernel " + std::to_string(number) + " takes a body of " + std::to_string(found.bytes) +
                              " bytes, but got one of " + std::to_string(bytes) + " bytes");
  const DeviceGuard guard(resources_.device);
  std::atomic<int>& at_a_time = resources_.at_a_time[static_cast<std::size_t>(number)];
  // The driver loads a kernel at its first use, which a capture refuses.
  if (at_a_time.load(std::memory_order_relaxed) == 0) {
    const BesideCapture beside;
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, found.function), "cudaFuncGetAttributes");
    int per_processor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, found.function, device::kBlockThreads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    at_a_time.store(std::max(per_processor, 1) * resources_.processors, std::memory_order_relaxed);
  }
  // At most kRounds times the blocks that the GPU runs at a time: a whole number of rounds, so that no processor is
  // idle in the last round; several rounds, so that a slow block does not delay the rest.
  constexpr int64_t kRounds = 4;
  const int64_t most = kRounds * at_a_time.load(std::memory_order_relaxed);
  const dim3 grid(static_cast<unsigned>(std::min(blocks, most)));
  void* arguments[] = {const_cast<void*>(body)};
  counts().launches.fetch_add(1, std::memory_order_relaxed);
  check(cudaLaunchKernel(found.function, grid, dim3(device::kBlockThreads), arguments, 0, stream_), "cudaLaunchKernel");
}

// ---- memory

std::byte* CudaMachine::allocate(int64_t bytes) {
  const DeviceGuard guard(resources_.device);
  return resources_.memory.allocate(bytes, stream_);
}

void CudaMachine::release(std::byte* memory) noexcept {
  if (memory == nullptr || is_forked()) return;
  try {
    const DeviceGuard guard(resources_.device);
    resources_.memory.release(memory, stream_);
  } catch (const std::exception&) {  // the context is destroyed, and the memory with it
  }
}

void CudaMachine::clear(void* memory, int64_t bytes) {
  if (bytes <= 0) return;
  const DeviceGuard guard(resources_.device);
  check(cudaMemsetAsync(memory, 0, size_of(bytes), stream_), "cudaMemsetAsync");
}

void CudaMachine::copy(void* target, const void* source, int64_t bytes) {
  if (bytes <= 0) return;
  const DeviceGuard guard(resources_.device);
  copy_to(target, source, bytes);
}

void CudaMachine::copy_to(void* target, const void* source, int64_t bytes) {
  check(cudaMemcpyAsync(target, source, size_of(bytes), cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

// The copy goes through pinned memory of this module. The stream would read the caller's own memory only later if that
// is pinned as well, and at every replay of a graph.
void CudaMachine::write(void* target, const void* host, int64_t bytes) {
  if (bytes <= 0) return;
  const DeviceGuard guard(resources_.device);
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(host);
  while (bytes > 0) {
    const int64_t part = std::min(bytes, Staging::kMost);
    if (staging_.bytes - staged_ < part) {
      give_staging();
      staging_ = resources_.staging.take(part);
    }
    std::byte* const staged = staging_.data + staged_;
    std::memcpy(staged, from, size_of(part));
    staged_ += (part + 255) / 256 * 256;  // the next part begins at a multiple of 256 bytes
    copy_to(to, staged, part);
    to += part;
    from += part;
    bytes -= part;
  }
}

void CudaMachine::give_staging() noexcept {
  const Staging::StagingBuffer buffer = std::exchange(staging_, {});
  staged_ = 0;
  if (buffer.data == nullptr) return;
  try {
    if (is_capturing()) {
      resources_.staging.keep(buffer);
    } else {
      resources_.staging.give(buffer, resources_.events.record(stream_));
    }
  } catch (const std::exception&) {  // the buffer is not reused, which is safe
  }
}

void CudaMachine::read(void* host, const void* source, int64_t bytes) {
  if (bytes <= 0) return;
  const DeviceGuard guard(resources_.device);
  if (is_capturing()) wait_here("this call");
  copy_to(host, source, bytes);
  wait_here("this call");
}

// ---- status

device::Status* CudaMachine::status() {
  const DeviceGuard guard(resources_.device);
  statuses_.reserve(statuses_.size() + 1);
  const StatusWords::StatusPair word = resources_.words.take();
  statuses_.push_back(word.far);
  // Within a graph, every replay has to begin with a clean status.
  if (is_capturing()) check(cudaMemsetAsync(word.far, 0, sizeof(device::Status), stream_), "cudaMemsetAsync");
  return word.far;
}

void CudaMachine::forget(device::Status* status) {
  const auto found = std::find(statuses_.begin(), statuses_.end(), status);
  if (found == statuses_.end()) throw device::DeviceError("this status does not belong to this machine");
  statuses_.erase(found);
}

device::Status CudaMachine::read_status(device::Status* status) {
  const DeviceGuard guard(resources_.device);
  if (is_capturing()) wait_here("bounds='raise'");
  const StatusWords::StatusPair word = resources_.words.of(status);
  copy_to(word.near, word.far, sizeof(device::Status));
  wait_here("bounds='raise'");
  forget(status);
  const device::Status found = *word.near;
  if (!found.is_clean()) resources_.words.clean(word);
  resources_.words.give(word);
  return found;
}

std::unique_ptr<device::Receipt> CudaMachine::later(device::Status* status) {
  const DeviceGuard guard(resources_.device);
  const StatusWords::StatusPair word = resources_.words.of(status);
  copy_to(word.near, word.far, sizeof(device::Status));
  give_staging();  // the machine may be kept until the status is read, and so outlive the stream
  if (is_capturing()) {
    forget(status);
    return std::make_unique<GraphReceipt>(word.near);
  }
  const cudaEvent_t event = resources_.events.record(stream_);
  forget(status);
  return std::make_unique<StreamReceipt>(resources_, word, event);
}

// ---- sort and sum

void CudaMachine::sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) {
  if (count <= 1 || bits <= 0) return;
  const DeviceGuard guard(resources_.device);
  const BesideCapture beside;  // CUB's kernels are loaded at their first use
  const int64_t bytes = count * static_cast<int64_t>(sizeof(uint64_t));
  const device::Temporary other_keys(*this, bytes);
  const device::Temporary other_values(*this, bytes);
  SortBuffer key_buffer{keys, other_keys.as<uint64_t>()};
  SortBuffer value_buffer{values, other_values.as<uint64_t>()};
  std::size_t needed = 0;
  check(sort_pairs(nullptr, needed, key_buffer, value_buffer, count, std::min(bits, 64), stream_), "cub::SortPairs");
  const device::Temporary work(*this, static_cast<int64_t>(needed));
  check(sort_pairs(work.data(), needed, key_buffer, value_buffer, count, std::min(bits, 64), stream_),
        "cub::SortPairs");
  if (key_buffer.now != keys) copy_to(keys, key_buffer.now, bytes);
  if (value_buffer.now != values) copy_to(values, value_buffer.now, bytes);
}

void CudaMachine::exclusive_sum(int64_t* values, int64_t count) {
  const DeviceGuard guard(resources_.device);
  const BesideCapture beside;
  check(cudaMemsetAsync(values + count, 0, sizeof(int64_t), stream_), "cudaMemsetAsync");  // CUB reads it
  if (count == 0) return;
  std::size_t needed = 0;
  check(exclusive_sum_of(nullptr, needed, values, count + 1, stream_), "cub::ExclusiveSum");
  const device::Temporary work(*this, static_cast<int64_t>(needed));
  check(exclusive_sum_of(work.data(), needed, values, count + 1, stream_), "cub::ExclusiveSum");
}

// ---- streams

bool CudaMachine::is_capturing() const {
  const DeviceGuard guard(resources_.device);
  return cuda::is_capturing(stream_);
}

void CudaMachine::wait_here(const char* what) {
  if (is_capturing())
    throw device::DeviceError(
        std::string(what) +
        " waits for the GPU, which is not possible while its stream is captured into a graph; use bounds='deferred' or "
        "'fill', or another rule that does not wait");
  counts().waits.fetch_add(1, std::memory_order_relaxed);
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaMachine::synchronize() {
  const DeviceGuard guard(resources_.device);
  wait_here("synchronize");
}

void CudaMachine::wait_for(uintptr_t stream) {
  order(stream_of(stream), stream_);
}

void CudaMachine::go_before(uintptr_t stream) {
  order(stream_, stream_of(stream));
}

void CudaMachine::wait_for_event(const void* event) {
  const DeviceGuard guard(resources_.device);
  check(cudaStreamWaitEvent(stream_, *static_cast<const cudaEvent_t*>(event), 0), "cudaStreamWaitEvent");
}

void CudaMachine::order(cudaStream_t first, cudaStream_t second) {
  if (first == second) return;
  const DeviceGuard guard(resources_.device);
  // The opposite is allowed: a stream joins a capture when it waits for a captured stream.
  if (cuda::is_capturing(second) && !cuda::is_capturing(first))
    throw device::DeviceError(
        "a stream that is being captured cannot wait for a stream that is not; let the other stream's work finish "
        "before the capture begins, or capture it too");
  const cudaEvent_t event = resources_.events.record(first);
  const cudaError_t error = cudaStreamWaitEvent(second, event, 0);
  resources_.events.give(event);  // recording the event again does not change what `second` waits for
  check(error, "cudaStreamWaitEvent");
}

}  // namespace gs::cuda
