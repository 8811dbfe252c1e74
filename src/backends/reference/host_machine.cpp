// host_machine.cpp: implements the emulated GPU: launches, memory, statuses, sorts, and records of them for tests.
#include "backends/reference/host_machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/device/bodies/bodies.h"
#include "backends/reference/device_memory.h"
#include "backends/reference/record.h"

namespace gs::reference {
namespace {

using device::kBlockThreads;
using device::kLanes;

// Runs one block. `turned`: its threads run in descending order; the lanes of a warp run in ascending order in any
// case.
template <class Body>
void run_block(const void* body_bytes, int64_t block, int64_t blocks, bool turned) {
  Body body;
  std::memcpy(&body, body_bytes, sizeof(Body));
  constexpr int kParts = device::kByWarps<Body> ? kBlockThreads / kLanes : kBlockThreads;
  for (int i = 0; i < kParts; ++i) {
    const int64_t number = block * kParts + (turned ? kParts - 1 - i : i);
    if constexpr (device::kByWarps<Body>) {
      body(device::Warp(number, blocks * kParts));
    } else {
      body(device::Thread{number, blocks * kParts});
    }
  }
}

using RunBlock = void (*)(const void* body, int64_t block, int64_t blocks, bool turned);

template <class... Body>
constexpr auto runners_of(device::BodyList<Body...>) {
  struct {
    RunBlock run[sizeof...(Body)] = {run_block<Body>...};
  } table;
  return table;
}
constexpr auto kRunners = runners_of(device::AllBodies());

// The receipt of launches that have already run.
class KnownStatus final : public device::Receipt {
 public:
  explicit KnownStatus(device::Status status) : status_(status) {}
  bool is_ready() const override {
    ++record().asks;
    return !record().holds_receipts;
  }
  device::Status status() override {
    if (!is_ready()) ++record().waits;
    return status_;
  }

 private:
  device::Status status_;
};

// The receipt of a captured graph. Nothing is recorded here: the launches have already run and count as the first
// replay.
class LastingStatus final : public device::Receipt {
 public:
  explicit LastingStatus(device::Status status) : status_(status) {}
  bool is_ready() const override { return !status_.is_clean(); }
  device::Status status() override { return std::exchange(status_, device::Status()); }
  bool is_lasting() const override { return true; }

 private:
  device::Status status_;
};

DeviceMemory& memory() {
  return DeviceMemory::instance();
}

std::byte* aligned(int64_t bytes) {
  constexpr std::size_t kAlign = 256;
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlign) / kAlign * kAlign;
  void* memory = std::aligned_alloc(kAlign, size);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

class HostDevices final : public Devices {
 public:
  const char* name() const override { return "reference"; }
  int count() const override { return 2; }
  std::string description(int) const override { return "a GPU emulated on the CPU"; }
  MemoryPlace place_of(const void* address) const override {
    if (!memory().is_allocated(memory().device(address))) return {MemoryPlace::Kind::host, 0};
    return {memory().contains(address) ? MemoryPlace::Kind::device : MemoryPlace::Kind::managed, 0};
  }
  std::unique_ptr<device::Machine> machine(int device, uintptr_t stream) const override {
    Settings settings = settings_from_environment();
    settings.is_hidden = true;
    return std::make_unique<HostMachine>(settings, device, stream);
  }
  std::byte* allocate(int, uintptr_t, int64_t bytes) const override {
    std::byte* const fresh = memory().allocate(bytes);
    ++record().live;
    return fresh;
  }
  void release(int, uintptr_t, std::byte* given) const noexcept override {
    --record().live;
    memory().release(given);
  }
};

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  const char* seed = std::getenv("GS_REFERENCE_SHUFFLE");
  if (seed != nullptr && *seed != 0) settings.shuffle = std::strtoull(seed, nullptr, 10);
  return settings;
}

HostMachine::HostMachine(const Settings& settings, int device, uintptr_t stream)
    : settings_(settings), device_(device), stream_(stream), random_(settings.shuffle.value_or(0)) {}

void HostMachine::launch(int kernel, int64_t blocks, const void* body, std::size_t) {
  ++record().launches;
  std::vector<int64_t> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), 0);
  if (settings_.shuffle) std::shuffle(order.begin(), order.end(), random_);
  const DeviceMemory::Access access;
  for (const int64_t block : order) {
    kRunners.run[kernel](body, block, blocks, settings_.shuffle && random_() % 2 != 0);
    if (interrupted_ == nullptr || std::chrono::steady_clock::now() - asked_ < std::chrono::milliseconds(10)) continue;
    if (interrupted_()) throw device::Interrupted();
    asked_ = std::chrono::steady_clock::now();
  }
}

std::byte* HostMachine::allocate(int64_t bytes) {
  std::byte* const fresh = settings_.is_hidden ? memory().allocate(bytes) : aligned(bytes);
  if (settings_.shuffle) {
    std::memset(memory().host(fresh), static_cast<int>(random_() & 0xFF), static_cast<std::size_t>(bytes));
  }
  return fresh;
}

void HostMachine::release(std::byte* given) noexcept {
  settings_.is_hidden ? memory().release(given) : std::free(given);
}

void HostMachine::clear(void* target, int64_t bytes) {
  if (bytes > 0) std::memset(memory().host(target), 0, static_cast<std::size_t>(bytes));
}

void HostMachine::copy(void* target, const void* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(memory().host(target), memory().host(source), static_cast<std::size_t>(bytes));
}

void HostMachine::write(void* target, const void* host, int64_t bytes) {
  ++record().writes;
  copy(target, host, bytes);
}

void HostMachine::read(void* host, const void* source, int64_t bytes) {
  ++record().waits;
  copy(host, source, bytes);
}

bool HostMachine::is_capturing() const {
  return record().is_capturing;
}

void HostMachine::synchronize() {
  ++record().waits;
}

void HostMachine::wait_for(uintptr_t other) {
  record().add("wait_for", device_, stream_, other);
}

void HostMachine::go_before(uintptr_t other) {
  record().add("go_before", device_, stream_, other);
}

device::Status* HostMachine::status() {
  std::byte* const fresh = allocate(sizeof(device::Status));
  clear(fresh, sizeof(device::Status));
  return reinterpret_cast<device::Status*>(fresh);
}

device::Status HostMachine::read_status(device::Status* status) {
  ++record().waits;
  return taken_back(status);
}

device::Status HostMachine::taken_back(device::Status* status) {
  const device::Status found = *memory().host(status);
  release(reinterpret_cast<std::byte*>(status));
  return found;
}

std::unique_ptr<device::Receipt> HostMachine::later(device::Status* status) {
  const device::Status found = taken_back(status);
  if (is_capturing()) return std::make_unique<LastingStatus>(found);
  return std::make_unique<KnownStatus>(found);
}

void HostMachine::sort(uint64_t* keys, uint64_t* values, int64_t count, int bits) {
  keys = memory().host(keys);
  values = memory().host(values);
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  pairs.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) pairs.emplace_back(keys[i], values[i]);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const auto& a, const auto& b) { return (a.first & mask) < (b.first & mask); });
  for (const auto& [key, value] : pairs) {
    *keys++ = key;
    *values++ = value;
  }
}

void HostMachine::exclusive_sum(int64_t* values, int64_t count) {
  values = memory().host(values);
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exchange(values[i], sum);
  values[count] = sum;
}

const Devices& devices() {
  static const HostDevices instance;
  return instance;
}

}  // namespace gs::reference
