// test_cuda_machine.cpp: a stream of a GPU fulfils the contract of machines; captures, streams, devices. Tests that
// need a GPU print text that ctest counts as skipped if there is none; test_fake_cuda runs all tests on the CPU.
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "backends/cuda/architectures.h"
#include "backends/cuda/call.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/kernels.h"
#include "backends/device/launch.h"
#include "machine_contract.h"

using namespace gs;
using namespace gs::test;
using gs::cuda::check;

namespace {

const Devices& gpus() {
  return cuda::devices();
}

bool no_gpu() {
  if (gpus().count() > 0) return false;
  WARN("skipped: " << cuda::driver().reason);
  return true;
}

class Stream {
 public:
  explicit Stream(int device = 0) : device_(device) {
    const cuda::DeviceGuard guard(device);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }
  uintptr_t handle() const { return reinterpret_cast<uintptr_t>(stream_); }
  std::unique_ptr<Machine> machine() const { return gpus().machine(device_, handle()); }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

// A graph of the work that a stream was given between construction and end().
class Capture {
 public:
  explicit Capture(const Stream& stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) : stream_(stream) {
    check(cudaStreamBeginCapture(stream.get(), mode), "cudaStreamBeginCapture");
  }
  void end() {
    check(cudaStreamEndCapture(stream_.get(), &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&ready_, graph_, 0), "cudaGraphInstantiate");
  }
  void replay() {
    check(cudaGraphLaunch(ready_, stream_.get()), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  }
  ~Capture() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

 private:
  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

// ---- without a GPU

TEST_CASE("which GPUs an architecture list serves", "[cuda]") {
  using cuda::serves;
  const char* wheels = "75-real,80-real,90-real,100,120";
  for (const auto& [major, minor] : std::vector<std::pair<int, int>>{
           {7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}, {13, 0}})
    REQUIRE(serves(wheels, major, minor));
  for (const auto& [major, minor] : std::vector<std::pair<int, int>>{{5, 2}, {6, 1}, {7, 0}, {7, 2}})
    REQUIRE_FALSE(serves(wheels, major, minor));
  REQUIRE_FALSE(serves("80-real,90-real", 10, 0));
  REQUIRE_FALSE(serves("86-real", 8, 0));
  REQUIRE(serves("86-real", 8, 9));
  REQUIRE(serves("90-virtual", 9, 0));
  REQUIRE(serves("90-virtual", 12, 0));
  REQUIRE_FALSE(serves("90-virtual", 8, 9));
  REQUIRE_FALSE(serves("", 9, 0));
}

TEST_CASE("every body has its kernel", "[cuda]") {
  device::for_each_body(device::AllBodies(), 0, []<class Body>(int number) {
    REQUIRE(cuda::kernel(number).function != nullptr);
    REQUIRE(cuda::kernel(number).bytes == sizeof(Body));
  });
  REQUIRE_THROWS(cuda::kernel(device::kBodies));
}

TEST_CASE("zero GPUs are no error, and a device number outside of them is one", "[cuda]") {
  const cuda::DriverFacts& facts = cuda::driver();
  REQUIRE(facts.reason.empty() == (gpus().count() > 0));
  if (gpus().count() == 0) REQUIRE(facts.reason.starts_with("no GPU: "));
  if (facts.version == 0) REQUIRE(facts.reason.find("the driver is missing or too old (CUDA ") != std::string::npos);
  const int beyond = gpus().count();
  REQUIRE_THROWS_AS(gpus().machine(beyond, 0), device::DeviceError);
  REQUIRE_THROWS_AS(gpus().machine(-1, 0), device::DeviceError);
  REQUIRE_THROWS_AS(gpus().description(beyond), device::DeviceError);
  REQUIRE_THROWS_AS(gpus().allocate(beyond, 0, 16), device::DeviceError);
  int here = 0;
  REQUIRE(gpus().place_of(&here).kind == MemoryPlace::Kind::host);
  gpus().release(beyond, 0, reinterpret_cast<std::byte*>(&here));  // does nothing and does not throw
}

TEST_CASE("errors name the call and give CUDA's text, and memory that runs out is bad_alloc", "[cuda]") {
  REQUIRE_NOTHROW(check(cudaSuccess, "cudaFree"));
  REQUIRE_THROWS_AS(check(cudaErrorMemoryAllocation, "cudaMalloc"), std::bad_alloc);
  try {
    check(cudaErrorNoKernelImageForDevice, "cudaLaunchKernel");
    FAIL("no error");
  } catch (const device::DeviceError& error) {
    const std::string text = error.what();
    REQUIRE(text.starts_with("cudaLaunchKernel: "));
    REQUIRE(text.ends_with(" (cudaErrorNoKernelImageForDevice)"));
  }
}

// ---- with one

TEST_CASE("a stream of a GPU keeps the contract", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  const auto machine = stream.machine();
  SECTION("memory") {
    check_memory(*machine);
  }
  SECTION("sort") {
    check_sort(*machine);
  }
  SECTION("sum") {
    check_sum(*machine);
  }
  SECTION("status") {
    check_status(*machine);
  }
  SECTION("the stream that every program has") {
    check_status(*gpus().machine(0, 0));
  }
  REQUIRE(machine->resident_blocks() > 0);
}

TEST_CASE("a machine makes no slow driver call after warm-up", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  const auto round = [&] {
    const auto machine = stream.machine();
    Lookup lookup(*machine, 1000, good_index(5000, 1000));
    device::Status* status = machine->status();
    lookup.start(status);
    return machine->later(status);
  };
  round()->status();
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  const uint64_t waits = cuda::counts().waits;
  const uint64_t allocations = cuda::counts().allocations;
  const uint64_t launches = cuda::counts().launches;
  const auto receipt = round();
  REQUIRE(cuda::counts().waits == waits);
  REQUIRE(cuda::counts().allocations == allocations);
  REQUIRE(cuda::counts().launches > launches);
  REQUIRE(receipt->status().is_clean());
  REQUIRE(cuda::counts().waits == waits + 1);
}

TEST_CASE("a deferred check does not use its stream after the stream may be destroyed", "[cuda][gpu]") {
  if (no_gpu()) return;
  std::byte* const memory = gpus().allocate(0, 0, 8);
  std::unique_ptr<Machine> machine;
  std::unique_ptr<device::Receipt> receipt;
  {
    const Stream stream;
    machine = stream.machine();
    const int64_t value = 1;
    machine->write(memory, &value, 8);
    receipt = machine->later(machine->status());
  }
  REQUIRE(receipt->status().is_clean());
  receipt.reset();
  machine.reset();
  gpus().release(0, 0, memory);
}

TEST_CASE("a captured lookup checks every replay", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  const Stream beside;
  const auto other = beside.machine();
  std::vector<int64_t> index = good_index(5000, 1000);
  Lookup lookup(*other, 1000, index);
  other->later(other->status());  // the status word returns to its pool during the capture
  other->synchronize();
  const auto mode =
      GENERATE(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed);
  Capture capture(stream, mode);
  std::unique_ptr<device::Receipt> receipt;
  {
    const auto machine = stream.machine();
    REQUIRE(machine->is_capturing());
    device::Status* status = machine->status();
    device::move(*machine, lookup.plan, lookup.buffers, Direction::gather, status);
    receipt = machine->later(status);
    REQUIRE_THROWS_AS(machine->synchronize(), device::DeviceError);
    uint64_t word = 0;
    REQUIRE_THROWS_AS(machine->read(&word, lookup.result.data(), 8), device::DeviceError);
    REQUIRE_THROWS_AS(machine->wait_for(beside.handle()), device::DeviceError);
  }
  capture.end();
  REQUIRE(receipt->is_lasting());
  capture.replay();
  REQUIRE_FALSE(receipt->is_ready());
  REQUIRE(receipt->status().is_clean());
  REQUIRE(lookup.result.read() == lookup.expected());
  lookup.index_values[4321] = 1000;
  other->write(lookup.places.data(), lookup.index_values.data(), bytes_of(lookup.index_values));
  other->clear(lookup.result.data(), bytes_of(lookup.index_values));
  other->synchronize();
  for (int round = 0; round < 2; ++round) {
    capture.replay();
    REQUIRE(receipt->is_ready());
    const device::Status found = receipt->status();
    REQUIRE(found.first() == 4321);
    REQUIRE(found.count == 1);
    REQUIRE_FALSE(receipt->is_ready());
  }
  REQUIRE(lookup.result.read() == lookup.expected());
  other->write(lookup.places.data(), index.data(), bytes_of(index));
  other->synchronize();
  capture.replay();
  REQUIRE(receipt->status().is_clean());
}

TEST_CASE("every replay of a captured move writes the same", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  const Stream beside;
  const auto other = beside.machine();
  std::vector<uint64_t> values = noise(200000, 9);
  const std::vector<uint64_t> kept = values;
  const MachineArray<uint64_t> target(*other, std::vector<uint64_t>(values.size()));
  other->synchronize();
  Capture capture(stream);
  stream.machine()->write(target.data(), values.data(), bytes_of(values));
  capture.end();
  std::fill(values.begin(), values.end(), 0);
  for (int round = 0; round < 3; ++round) {
    check_memory(*other);  // reuses all staging memory
    other->clear(target.data(), bytes_of(values));
    other->synchronize();
    capture.replay();
    REQUIRE(target.read() == kept);
  }
}

TEST_CASE("sorts and sums can be captured, with their temporaries", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  const Stream beside;
  const auto other = beside.machine();
  const std::vector<uint64_t> keys = noise(100000, 8);
  const MachineArray<uint64_t> sorted(*other, keys);
  const MachineArray<uint64_t> values(*other, keys);
  const MachineArray<int64_t> sums(*other, std::vector<int64_t>(1001, 2));
  other->synchronize();
  Capture capture(stream);
  {
    const auto machine = stream.machine();
    machine->sort(sorted.data(), values.data(), static_cast<int64_t>(keys.size()), 64);
    machine->exclusive_sum(sums.data(), 1000);
  }
  capture.end();
  capture.replay();
  std::vector<uint64_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  REQUIRE(sorted.read() == expected);
  REQUIRE(values.read() == expected);
  REQUIRE(sums.read().back() == 2000);
}

TEST_CASE("bounds='raise' under capture is an error that names bounds='deferred'", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  Capture capture(stream);
  {
    const auto machine = stream.machine();
    device::Status* status = machine->status();
    try {
      machine->read_status(status);
      FAIL("no error");
    } catch (const device::DeviceError& error) {
      REQUIRE(std::string(error.what()).find("bounds='deferred'") != std::string::npos);
    }
  }
  capture.end();
  check_memory(*stream.machine());
}

TEST_CASE("two streams, one after the other by events", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream first;
  const Stream second;
  const auto writer = first.machine();
  const auto reader = second.machine();
  std::vector<uint64_t> zeros(1 << 20);
  const MachineArray<uint64_t> memory(*writer, zeros);
  const MachineArray<uint64_t> copy(*reader, zeros);
  for (uint64_t round = 1; round <= 50; ++round) {
    const std::vector<uint64_t> values = noise(1 << 20, round);
    if (round % 2 == 0) {
      reader->go_before(first.handle());
      writer->write(memory.data(), values.data(), bytes_of(values));
      reader->wait_for(first.handle());
    } else {
      writer->wait_for(second.handle());
      writer->write(memory.data(), values.data(), bytes_of(values));
      writer->go_before(second.handle());
    }
    reader->copy(copy.data(), memory.data(), bytes_of(values));
    if (round % 10 == 0) REQUIRE(copy.read() == values);
  }
}

TEST_CASE("an event of another library is waited for", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream first;
  const Stream second;
  const auto writer = first.machine();
  const auto reader = second.machine();
  const std::vector<uint64_t> values = noise(1 << 20, 1);
  const MachineArray<uint64_t> copy(*reader, std::vector<uint64_t>(values.size()));
  const MachineArray<uint64_t> memory(*writer, values);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaEventRecord(event, first.get()), "cudaEventRecord");
  reader->wait_for_event(&event);
  reader->copy(copy.data(), memory.data(), bytes_of(values));
  REQUIRE(copy.read() == values);
  cudaEventDestroy(event);
}

TEST_CASE("several threads share a GPU", "[cuda][gpu]") {
  if (no_gpu()) return;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Stream stream;
      for (int round = 0; round < 50; ++round) {
        const auto machine = stream.machine();
        Lookup lookup(*machine, 1000, good_index(5000, 1000));
        device::Status* status = machine->status();
        lookup.start(status);
        const bool clean =
            round % 2 == 0 ? machine->read_status(status).is_clean() : machine->later(status)->status().is_clean();
        if (clean && lookup.result.read() == lookup.expected()) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(right == 200);
}

TEST_CASE("results: memory of the GPU, also beside a capture", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  std::byte* memory = gpus().allocate(0, stream.handle(), 1 << 20);
  const MemoryPlace place = gpus().place_of(memory);
  REQUIRE(place.kind == MemoryPlace::Kind::device);
  REQUIRE(place.device == 0);
  void* pinned = nullptr;
  check(cudaHostAlloc(&pinned, 4096, cudaHostAllocDefault), "cudaHostAlloc");
  REQUIRE(gpus().place_of(pinned).kind == MemoryPlace::Kind::pinned_host);
  cudaFreeHost(pinned);

  Capture capture(stream);
  std::byte* beside = gpus().allocate(0, stream.handle(), 1 << 20);
  stream.machine()->clear(beside, 1 << 20);
  gpus().release(0, stream.handle(), memory);  // waits for the end of the capture
  capture.end();
  capture.replay();
  capture.replay();
  gpus().release(0, stream.handle(), beside);
  check_memory(*stream.machine());
}

TEST_CASE("a thread without a context has none afterwards", "[cuda][gpu]") {
  if (no_gpu()) return;
  const Stream stream;
  bool none = false;
  std::thread([&] {
    check_memory(*stream.machine());
    PFN_cuCtxGetCurrent_v4000 current = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", reinterpret_cast<void**>(&current), 12000,
                                           cudaEnableDefault, &found),
          "cudaGetDriverEntryPointByVersion");
    CUcontext context = nullptr;
    none = current(&context) == CUDA_SUCCESS && context == nullptr;
  }).join();
  REQUIRE(none);
}

TEST_CASE("using the GPU in a forked child is an error", "[cuda][gpu]") {
  if (no_gpu()) return;
  const pid_t child = fork();
  if (child == 0) {
    try {
      gpus().machine(0, 0);
    } catch (const device::DeviceError& error) {
      _exit(std::string(error.what()).find("fork") != std::string::npos ? 0 : 2);
    }
    _exit(1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("the second GPU works while the first one is current", "[cuda][gpu]") {
  if (no_gpu()) return;
  if (gpus().count() < 2) {
    WARN("skipped: there is one GPU only");
    return;
  }
  check(cudaSetDevice(0), "cudaSetDevice");
  const Stream stream(1);
  check_status(*stream.machine());
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  REQUIRE(current == 0);
}
