// memory_pool.cpp: implements the pool of recycled blocks.
#include "host/memory_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "host/huge_pages.h"
#include "host/settings.h"

namespace gs::host {
namespace {

constexpr size_t kSmallest = size_t{256} << 10;  // below, the allocator of the C library is faster
constexpr size_t kPage = 4096;
constexpr size_t kLargestLimit = size_t{1} << 30;
constexpr size_t kPartOfMemory = 16;
constexpr size_t kMostBytes = size_t{1} << 62;

// Rounds a size up to a size class: a power of two times 1, 1.25, 1.5 or 1.75. So a block exceeds the requested size by
// at most a quarter, which is never touched.
size_t class_bytes(size_t bytes) {
  const size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

size_t memory_bytes() {
  auto bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  const int64_t quota = quota_memory(read_file("/proc/self/cgroup"), "/sys/fs/cgroup");
  return quota > 0 ? std::min(bytes, static_cast<size_t>(quota)) : bytes;
}

bool enabled_by_setting() {
  const char* setting = std::getenv("GS_POOL");
  if (setting == nullptr || std::string(setting) == "1") return true;
  if (std::string(setting) == "0") return false;
  throw std::invalid_argument("GS_POOL=" + std::string(setting) + ": expected 0 or 1");
}

// Fresh pages from the system, aligned to huge pages if the block has the size of one; null if the system has no
// memory.
void* map_block(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const size_t slack = alignment - kPage;
  void* mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
  const size_t before = aligned - begin;
  if (before > 0) munmap(mapped, before);
  if (slack > before) munmap(reinterpret_cast<void*>(aligned + bytes), slack - before);
  auto* block = reinterpret_cast<void*>(aligned);
  prefer_huge_pages(block, bytes);
  return block;
}

struct Cached {
  void* block;
  size_t bytes;
};

// The table of all blocks of the pool. A caller must hold the lock below.
class Recycler {
 public:
  Recycler() : enabled_(enabled_by_setting()), limit_(std::min(kLargestLimit, memory_bytes() / kPartOfMemory)) {}

  bool enabled() const { return enabled_; }
  PoolState state() const { return {cached_bytes_, used_bytes_, limit_, enabled_}; }

  // The block of this size that was released last; null if there is none.
  void* reuse(size_t size) {
    for (auto entry = cached_.rbegin(); entry != cached_.rend(); ++entry) {
      if (entry->bytes != size) continue;
      void* const block = entry->block;
      add_used(block, size);
      cached_bytes_ -= size;
      cached_.erase(std::next(entry).base());
      return block;
    }
    return nullptr;
  }

  void add_used(void* block, size_t size) {
    used_.emplace(block, size);
    used_bytes_ += size;
  }

  // Takes a released block back. False: the block is not from the pool.
  bool take_back(void* block) noexcept {
    const auto found = used_.find(block);
    if (found == used_.end()) return false;
    const size_t size = found->second;
    used_.erase(found);
    used_bytes_ -= size;
    if (size > limit_) {
      munmap(block, size);
      return true;
    }
    while (cached_bytes_ + size > limit_) drop_oldest();
    try {
      cached_.push_back({block, size});
      cached_bytes_ += size;
    } catch (const std::bad_alloc&) {
      munmap(block, size);
    }
    return true;
  }

  size_t trim() {
    const size_t freed = cached_bytes_;
    while (!cached_.empty()) drop_oldest();
    return freed;
  }

 private:
  void drop_oldest() noexcept {
    munmap(cached_.front().block, cached_.front().bytes);
    cached_bytes_ -= cached_.front().bytes;
    cached_.pop_front();
  }

  const bool enabled_;
  const size_t limit_;
  std::deque<Cached> cached_;  // oldest first
  std::unordered_map<void*, size_t> used_;
  size_t cached_bytes_ = 0;
  size_t used_bytes_ = 0;
};

// fork() acquires the lock first, so that a child gets a consistent pool. No function-local static is used here: a
// child that is forked during its initialisation would wait for its guard without end. The recycler is never destroyed,
// because arrays may be released after static objects are destroyed.
constinit std::mutex lock;
constinit Recycler* recycler = nullptr;
[[maybe_unused]] const int kForkWaits =
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });

class LockedPool {
 public:
  LockedPool() : held_(lock) {
    if (recycler == nullptr) recycler = new Recycler;
  }
  Recycler* operator->() const { return recycler; }

 private:
  std::lock_guard<std::mutex> held_;
};

void* take(size_t size) {
  void* block = map_block(size);  // without the lock: the system call may take long
  if (block == nullptr && trim() > 0) block = map_block(size);
  if (block == nullptr) throw std::bad_alloc();
  try {
    LockedPool()->add_used(block, size);
  } catch (...) {
    munmap(block, size);
    throw;
  }
  return block;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes > kMostBytes) throw std::bad_alloc();
  if (bytes >= kSmallest) {
    const size_t size = class_bytes(bytes);
    bool enabled = false;
    void* block = nullptr;
    {
      const LockedPool pool;
      enabled = pool->enabled();
      if (enabled) block = pool->reuse(size);
    }
    if (block != nullptr) return block;
    if (enabled) return take(size);
  }
  void* block = std::aligned_alloc(64, std::max<size_t>((bytes + 63) / 64 * 64, 64));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  // Blocks of the pool begin at a page. Most other blocks do not, which saves the lookup under the lock.
  const bool may_be_pooled = block != nullptr && (reinterpret_cast<uintptr_t>(block) & (kPage - 1)) == 0;
  if (may_be_pooled) {
    const std::lock_guard<std::mutex> held(lock);
    if (recycler != nullptr && recycler->take_back(block)) return;
  }
  std::free(block);
}

std::size_t trim() {
  return LockedPool()->trim();
}

PoolState pool_state() {
  return LockedPool()->state();
}

}  // namespace gs::host
