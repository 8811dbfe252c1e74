// device_memory.h: the memory of the emulated GPU: kernels may access it, and an access by the host ends the process.
//
// The pages are mapped twice. An allocation is identified by its device address, which is accessible only while a
// launch runs (`Access`). The host address is for the machine's own copies and for tests. As an operand of the library,
// memory at a host address counts as managed memory, which host and device may access.
#pragma once

#include <pthread.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

namespace gs::reference {

class DeviceMemory {
 public:
  static constexpr std::size_t kReserved = std::size_t{1} << 34;  // addresses; a page is allocated by its first write
  static constexpr std::size_t kAlign = 256;
  static constexpr std::size_t kGivenBack = std::size_t{1} << 16;  // from this size on, a release frees the pages

  static DeviceMemory& instance() {
    static DeviceMemory& memory = *new DeviceMemory();  // never destroyed: it outlives all allocations
    return memory;
  }

  bool contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(device_) < kReserved;
  }
  bool is_host_address(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(host_) < kReserved;
  }
  // The host address of a device address, and the device address of a host address. Other addresses are returned
  // unchanged.
  template <class T>
  T* host(T* address) const {
    return contains(address) ? moved(address, host_ - device_) : address;
  }
  template <class T>
  T* device(T* address) const {
    return is_host_address(address) ? moved(address, device_ - host_) : address;
  }
  // Returns true if a device address lies in allocated memory.
  bool is_allocated(const void* address) const {
    if (!contains(address)) return false;
    const std::lock_guard lock(mutex_);
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - device_);
    auto block = used_.upper_bound(offset);
    if (block == used_.begin()) return false;
    --block;
    return offset - block->first < block->second.bytes;
  }

  // Returns a device address. Between two allocations there is always a gap.
  std::byte* allocate(int64_t bytes) {
    const std::size_t wanted = static_cast<std::size_t>(std::max<int64_t>(bytes, 1));
    const std::size_t size = (wanted / kAlign + 2) * kAlign;
    const std::lock_guard lock(mutex_);
    auto block = std::find_if(free_.begin(), free_.end(), [&](const auto& one) { return one.second >= size; });
    if (block == free_.end()) throw std::bad_alloc();
    const auto [offset, available] = *block;
    free_.erase(block);
    if (available > size) free_.emplace(offset + size, available - size);
    used_.emplace(offset, Mapping{wanted, size});
    top_ = std::max(top_, offset + size);
    mark(offset, wanted, size);
    return device_ + offset;
  }

  void release(std::byte* address) noexcept {
    const std::lock_guard lock(mutex_);
    const auto block = used_.find(static_cast<std::size_t>(address - device_));
    std::size_t offset = block->first;
    std::size_t size = block->second.size;
    used_.erase(block);
    mark(offset, 0, size);
    if (size >= kGivenBack) give_back(offset, size);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + size) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    free_.emplace(offset, size);
  }

  // Device addresses are accessible while at least one Access exists.
  class Access {
   public:
    Access() { instance().open(); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() { instance().close(); }
  };

 private:
  struct Mapping {
    std::size_t bytes;
    std::size_t size;
  };

  DeviceMemory() {
    device_ = reserve();
    host_ = reserve();
    map_pages();
    free_.emplace(0, kReserved);
    // A child of a fork gets memory of its own, so that its writes do not reach the parent.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().map_pages();
                     instance().accesses_ = 0;
                     instance().mutex_.unlock();
                   });
  }

  // Marks for AddressSanitizer which bytes of an allocation are in use.
  void mark([[maybe_unused]] std::size_t offset, [[maybe_unused]] std::size_t used, [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
    for (std::byte* const at : {device_ + offset, host_ + offset}) {
      ASAN_UNPOISON_MEMORY_REGION(at, used);
      ASAN_POISON_MEMORY_REGION(at + used, size - used);
    }
#endif
  }

  template <class T>
  static T* moved(T* address, std::ptrdiff_t by) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(by));
  }

  static std::byte* reserve() {
    void* const at = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
  }

  void map_pages() {
    const auto file = static_cast<int>(syscall(SYS_memfd_create, "emulated GPU", 1u));  // 1: MFD_CLOEXEC
    const auto map = [&](std::byte* at, int access) {
      return mmap(at, kReserved, access, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
    };
    const bool is_good = file >= 0 && ftruncate(file, static_cast<off_t>(kReserved)) == 0 && map(device_, PROT_NONE) &&
                         map(host_, PROT_READ | PROT_WRITE);
    if (file >= 0) ::close(file);
    if (!is_good) throw std::bad_alloc();
    opened_ = 0;
  }

  void give_back(std::size_t offset, std::size_t size) noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t begin = (offset + page - 1) / page * page;
    const std::size_t end = (offset + size) / page * page;
    if (begin < end) madvise(host_ + begin, end - begin, MADV_REMOVE);
  }

  void open() {
    const std::lock_guard lock(mutex_);
    ++accesses_;
    if (opened_ < top_) mprotect(device_, top_, PROT_READ | PROT_WRITE);
    opened_ = std::max(opened_, top_);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--accesses_ > 0 || opened_ == 0) return;
    mprotect(device_, opened_, PROT_NONE);
    opened_ = 0;
  }

  mutable std::mutex mutex_;
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
  std::map<std::size_t, std::size_t> free_;  // by offset
  std::map<std::size_t, Mapping> used_;
  std::size_t top_ = 0;     // no allocation has reached this offset
  std::size_t opened_ = 0;  // accessible bytes, counted from device_
  int accesses_ = 0;
};

}  // namespace gs::reference
