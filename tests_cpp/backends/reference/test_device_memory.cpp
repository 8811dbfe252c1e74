// test_device_memory.cpp: only kernels can access the memory of the emulated GPU.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "backends/device/launch.h"
#include "backends/reference/device_memory.h"
#include "backends/reference/host_machine.h"
#include "machine_contract.h"

using namespace gs;
using namespace gs::test;
using reference::DeviceMemory;

namespace {

// Whether the host may read there; the system call reports it without a signal.
bool is_readable(const void* address) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const bool is = write(ends[1], address, 1) == 1;
  if (!is) REQUIRE(errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return is;
}

reference::Settings hidden() {
  reference::Settings settings;
  settings.is_hidden = true;
  return settings;
}

}  // namespace

TEST_CASE("device addresses are accessible while a launch runs", "[device_memory]") {
  DeviceMemory& memory = DeviceMemory::instance();
  reference::HostMachine machine(hidden());
  const MachineArray<uint64_t> there(machine, {1, 2, 3});
  REQUIRE(memory.contains(there.data()));
  REQUIRE_FALSE(is_readable(there.data()));
  REQUIRE(is_readable(memory.host(there.data())));
  REQUIRE(memory.device(memory.host(there.data())) == there.data());
  {
    const DeviceMemory::Access outer;
    REQUIRE(is_readable(there.data()));
    {
      const DeviceMemory::Access inner;
    }
    REQUIRE(is_readable(there.data()));
    // The next launch can access memory that was allocated in between.
    const auto large = std::make_unique<MachineArray<uint64_t>>(machine, noise(1 << 20, 1));
    const DeviceMemory::Access next;
    REQUIRE(is_readable(large->data() + (1 << 20) - 1));
  }
  REQUIRE_FALSE(is_readable(there.data()));
  machine.launch(device::kernel_number<device::CountWords>(), 1, std::make_unique<device::CountWords>().get(),
                 sizeof(device::CountWords));
  REQUIRE_FALSE(is_readable(there.data()));
}

TEST_CASE("an address belongs to an allocation up to its last byte", "[device_memory]") {
  DeviceMemory& memory = DeviceMemory::instance();
  for (const int64_t bytes : {1, 255, 256, 257, 70000}) {
    std::byte* const first = memory.allocate(bytes);
    std::byte* const second = memory.allocate(bytes);
    REQUIRE(memory.is_allocated(first));
    REQUIRE(memory.is_allocated(first + bytes - 1));
    REQUIRE_FALSE(memory.is_allocated(first + bytes));
    REQUIRE_FALSE(memory.is_allocated(memory.host(first)));
    memory.release(first);
    REQUIRE_FALSE(memory.is_allocated(first));
    REQUIRE(memory.is_allocated(second));
    std::byte* const again = memory.allocate(bytes);
    REQUIRE(again == first);
    memory.release(second);
    memory.release(again);
  }
  int local = 0;
  REQUIRE(memory.host(&local) == &local);
  REQUIRE(memory.device(&local) == &local);
}

// Pages of 64 KiB are usual on aarch64: a release that rounds to smaller pages empties the start of the next
// allocation.
TEST_CASE("a release leaves the next allocation as it is", "[device_memory]") {
  DeviceMemory& memory = DeviceMemory::instance();
  constexpr int64_t kGap = 512;  // of two allocations whose sizes are multiples of DeviceMemory::kAlign
  std::byte* const first = memory.allocate(4 * 65536 - kGap);
  std::byte* const second = memory.allocate(3 * 65536 + 5 * 4096 + 3 * 256 - kGap);
  std::byte* const third = memory.allocate(65536);
  REQUIRE(second - first == 4 * 65536);
  REQUIRE(third - second == 3 * 65536 + 5 * 4096 + 3 * 256);
  std::fill_n(memory.host(third), 65536, std::byte{0xA5});
  memory.release(second);
  const std::byte* const bytes = memory.host(third);
  REQUIRE(std::all_of(bytes, bytes + 65536, [](std::byte byte) { return byte == std::byte{0xA5}; }));
  memory.release(first);
  memory.release(third);
}
