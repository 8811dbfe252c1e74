// test_fake_cuda.cpp: emulates the CUDA runtime on the CPU, to test its callers. Work is executed as late as the rules
// of CUDA allow, so that a caller that does not wait reads old memory; freed memory is overwritten; calls that a
// capture forbids fail.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "backends/cuda/kernels.h"
#include "backends/device/launch.h"
#include "backends/reference/host_machine.h"

using Work = std::function<void()>;

// The runtime defines these types, which CUDA leaves opaque.
struct CUgraph_st {
  std::vector<Work> work;
  std::set<void*> allocated;  // allocated by the graph and not freed by it
  std::set<void*> own;
};
struct CUgraphExec_st {
  CUgraph_st* graph;
  bool launched = false;
};
struct CUstream_st {
  int device = 0;
  std::deque<Work> work;
  uint64_t enqueued = 0;
  uint64_t done = 0;
  CUgraph_st* graph = nullptr;  // the graph that is being captured
  bool is_gone = false;         // using the stream then is undefined in CUDA and ends the process here
};
struct CUevent_st {
  int device = 0;
  CUstream_st* stream = nullptr;
  uint64_t position = 0;
  bool captured = false;
};
struct CUmemPoolHandle_st {
  int device = 0;
};
struct CUctx_st {
  int device = 0;
};

namespace {

constexpr int kDevices = 2;
std::recursive_mutex mutex;
CUctx_st contexts[kDevices] = {{0}, {1}};
CUstream_st legacy[kDevices];
thread_local CUctx_st* current = nullptr;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
thread_local cudaError_t last = cudaSuccess;
std::atomic<int> captures{0};
std::atomic<bool> captures_are_invalid{false};

struct Piece {
  std::size_t bytes;
  cudaMemoryType type;
  int device;
};
std::map<uintptr_t, Piece> pieces;

cudaError_t recorded(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

// An error that invalidates the graphs of all captures in progress.
cudaError_t invalidates_captures(cudaError_t error) {
  captures_are_invalid = captures > 0;
  return recorded(error);
}

int device_now() {
  if (current == nullptr) current = &contexts[0];
  return current->device;
}

CUstream_st& stream_of(cudaStream_t stream) {
  if (stream != nullptr && stream->is_gone) std::abort();
  if (stream != nullptr) return *stream;
  CUstream_st& found = legacy[device_now()];
  found.device = device_now();
  return found;
}

// Whether calls that are forbidden during a capture must fail; a thread in relaxed mode may make them.
bool is_forbidden() {
  return captures > 0 && capture_mode != cudaStreamCaptureModeRelaxed;
}

void run_until(CUstream_st& stream, uint64_t position) {
  while (stream.done < position) {
    Work work = std::move(stream.work.front());
    stream.work.pop_front();
    work();
    ++stream.done;
  }
}

cudaError_t enqueue(cudaStream_t handle, Work work) {
  CUstream_st& stream = stream_of(handle);
  if (stream.device != device_now()) return recorded(cudaErrorInvalidResourceHandle);
  if (stream.graph != nullptr) {
    stream.graph->work.push_back(std::move(work));
  } else {
    stream.work.push_back(std::move(work));
    ++stream.enqueued;
  }
  return cudaSuccess;
}

void* new_memory(std::size_t bytes, cudaMemoryType type) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xAA, bytes);
  pieces[reinterpret_cast<uintptr_t>(memory)] = {bytes, type, device_now()};
  return memory;
}

// The memory is not freed, so that a later use of it is detected.
void overwrite(void* memory) {
  const auto found = pieces.find(reinterpret_cast<uintptr_t>(memory));
  std::memset(memory, 0xDD, found->second.bytes);
}

char kernel_marks[gs::device::kBodies + 1];

void mark_all(gs::cuda::Kernel* table) {
  gs::device::for_each_body(gs::device::AllBodies(), 0,
                            [&]<class Body>(int number) { table[number] = {&kernel_marks[number], sizeof(Body)}; });
}

CUresult get_context(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult set_context(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

}  // namespace

// ---- replaces the code that nvcc compiles

namespace gs::cuda {

void move_kernels(Kernel* table) {
  mark_all(table);
}
void scatter_kernels(Kernel*) {}
void atomic_kernels(Kernel*) {}
void integer_run_kernels(Kernel*) {}
void float_run_kernels(Kernel*) {}
void byte_float_run_kernels(Kernel*) {}
void column_kernels(Kernel*) {}

cudaError_t sort_pairs(void* work, std::size_t& bytes, SortBuffer& keys, SortBuffer& values, int64_t count, int bits,
                       cudaStream_t stream) {
  if (work == nullptr) {
    bytes = 512;
    return cudaSuccess;
  }
  const SortBuffer from[] = {keys, values};
  const cudaError_t error = enqueue(stream, [=] {
    std::memset(work, 0, 512);
    reference::HostMachine().sort(from[0].now, from[1].now, count, bits);
    if (bits % 2 == 0) return;
    std::copy_n(from[0].now, count, from[0].other);
    std::copy_n(from[1].now, count, from[1].other);
    std::fill_n(from[0].now, count, 0);
    std::fill_n(from[1].now, count, 0);
  });
  if (bits % 2 != 0) {  // CUB reports which of the two buffers holds the result
    std::swap(keys.now, keys.other);
    std::swap(values.now, values.other);
  }
  return error;
}

cudaError_t exclusive_sum_of(void* work, std::size_t& bytes, int64_t* values, int64_t count, cudaStream_t stream) {
  if (work == nullptr) {
    bytes = 512;
    return cudaSuccess;
  }
  return enqueue(stream, [=] {
    std::memset(work, 0, 512);
    std::exclusive_scan(values, values + count, values, int64_t{0});
  });
}

}  // namespace gs::cuda

extern "C" {

// ---- errors and devices

const char* cudaGetErrorString(cudaError_t) {
  return "text";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice ? "cudaErrorNoKernelImageForDevice" : "name";
}
cudaError_t cudaGetLastError() {
  return std::exchange(last, cudaSuccess);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* facts, int) {
  *facts = {};
  std::strcpy(facts->name, "a GPU that is none");
  facts->major = 9;
  facts->totalGlobalMem = std::size_t{1} << 34;
  facts->multiProcessorCount = 2;
  facts->maxThreadsPerMultiProcessor = 2048;
  facts->memoryPoolsSupported = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = device_now();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return recorded(cudaErrorInvalidDevice);
  current = &contexts[device];
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *found = std::strcmp(name, "cuCtxGetCurrent") == 0 ? reinterpret_cast<void*>(&get_context)
                                                     : reinterpret_cast<void*>(&set_context);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

// ---- memory

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  const std::lock_guard lock(mutex);
  if (is_forbidden()) return invalidates_captures(cudaErrorStreamCaptureUnsupported);
  *memory = new_memory(bytes, cudaMemoryTypeHost);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void*) {
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (is_forbidden()) return invalidates_captures(cudaErrorStreamCaptureUnsupported);
  *memory = new_memory(bytes, cudaMemoryTypeDevice);
  return cudaSuccess;
}
cudaError_t cudaFree(void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  if (props->location.id != device_now()) return recorded(cudaErrorInvalidValue);
  *pool = new CUmemPoolHandle_st{props->location.id};
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  *static_cast<cuuint64_t*>(value) = 0;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t handle) {
  const std::lock_guard lock(mutex);
  const CUstream_st& stream = stream_of(handle);
  if (stream.device != device_now() || pool->device != device_now()) return recorded(cudaErrorInvalidResourceHandle);
  *memory = new_memory(bytes, cudaMemoryTypeDevice);
  if (stream.graph != nullptr) {
    stream.graph->allocated.insert(*memory);
    stream.graph->own.insert(*memory);
  }
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t handle) {
  const std::lock_guard lock(mutex);
  const CUstream_st& stream = stream_of(handle);
  if (stream.graph != nullptr && stream.graph->allocated.erase(memory) == 0)
    return invalidates_captures(cudaErrorInvalidValue);
  return enqueue(handle, [memory] { overwrite(memory); });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* facts, const void* address) {
  const std::lock_guard lock(mutex);
  *facts = {};
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto found = pieces.upper_bound(at);
  if (found == pieces.begin() || at >= std::prev(found)->first + std::prev(found)->second.bytes) return cudaSuccess;
  facts->type = std::prev(found)->second.type;
  facts->device = std::prev(found)->second.device;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return enqueue(stream, [=] { std::memset(memory, value, bytes); });
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return enqueue(stream, [=] { std::memcpy(target, source, bytes); });
}

// ---- kernels

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
  return is_forbidden() ? invalidates_captures(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 2;
  return is_forbidden() ? invalidates_captures(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3, void** arguments, std::size_t,
                             cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const auto number = static_cast<int>(static_cast<const char*>(function) - kernel_marks);
  const auto* bytes = static_cast<const std::byte*>(arguments[0]);
  std::vector<std::byte> body(bytes, bytes + gs::cuda::kernel(number).bytes);
  const auto blocks = static_cast<int64_t>(grid.x);
  return enqueue(stream, [=] { gs::reference::HostMachine().launch(number, blocks, body.data(), body.size()); });
}

// ---- streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st{device_now(), {}, 0, 0, nullptr};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {  // work in the stream is still executed
  const std::lock_guard lock(mutex);
  run_until(*stream, stream->enqueued);
  stream->is_gone = true;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const std::lock_guard lock(mutex);
  CUstream_st& stream = stream_of(handle);
  if (stream.graph != nullptr || is_forbidden()) return invalidates_captures(cudaErrorStreamCaptureUnsupported);
  run_until(stream, stream.enqueued);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{device_now(), nullptr, 0, false};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const std::lock_guard lock(mutex);
  CUstream_st& stream = stream_of(handle);
  if (stream.device != event->device) return recorded(cudaErrorInvalidResourceHandle);
  *event = {event->device, &stream, stream.enqueued, stream.graph != nullptr};
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  if (event->captured || is_forbidden()) return invalidates_captures(cudaErrorStreamCaptureUnsupported);
  return event->stream->done >= event->position ? cudaSuccess : recorded(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  if (event->captured || is_forbidden()) return invalidates_captures(cudaErrorStreamCaptureUnsupported);
  run_until(*event->stream, event->position);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(mutex);
  if (stream_of(handle).graph != nullptr && !event->captured)
    return invalidates_captures(cudaErrorStreamCaptureIsolation);
  CUstream_st* const first = event->stream;
  const uint64_t position = event->position;
  return enqueue(handle, [=] { run_until(*first, position); });
}

// ---- captures

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(mutex);
  *status = stream_of(stream).graph != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard lock(mutex);
  stream->graph = new CUgraph_st;
  ++captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex);
  *graph = std::exchange(stream->graph, nullptr);
  --captures;
  return captures_are_invalid.exchange(false) ? recorded(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = new CUgraphExec_st{graph};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (std::exchange(ready->launched, true) && !ready->graph->allocated.empty()) return recorded(cudaErrorInvalidValue);
  for (void* memory : ready->graph->own)
    if (const cudaError_t error = enqueue(stream, [memory] { overwrite(memory); }); error != cudaSuccess) return error;
  for (const Work& work : ready->graph->work)
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return cudaSuccess;
}

}  // extern "C"
