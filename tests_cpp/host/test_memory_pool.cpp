// test_memory_pool.cpp: memory blocks of the pool: alignment, reuse, trimming, limits, threads, forked children.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "catch.h"
#include "host/memory_pool.h"

using namespace gs::host;

namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

bool aligned(const void* block, size_t to) {
  return reinterpret_cast<uintptr_t>(block) % to == 0;
}

}  // namespace

TEST_CASE("blocks of every size are aligned, writable and distinct") {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, 4 * kKiB, 256 * kKiB - 1,
                             256 * kKiB, 256 * kKiB + 1, kMiB, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 3, 33 * kMiB}) {
    INFO(bytes << " bytes");
    void* one = allocate(bytes);
    void* two = allocate(bytes);
    REQUIRE(one != two);
    REQUIRE(aligned(one, 64));
    if (bytes >= 2 * kMiB) REQUIRE(aligned(one, 2 * kMiB));
    std::memset(one, 1, bytes);
    std::memset(two, 2, bytes);
    if (bytes > 0) {
      REQUIRE(static_cast<unsigned char*>(one)[bytes - 1] == 1);
      REQUIRE(static_cast<unsigned char*>(two)[0] == 2);
    }
    release(one);
    release(two);
  }
  release(nullptr);
}

TEST_CASE("a released block comes back for a size of its class, warm") {
  trim();
  void* first = allocate(3 * kMiB);
  std::memset(first, 7, 3 * kMiB);
  release(first);
  void* second = allocate(3 * kMiB - 1000);
  REQUIRE(second == first);
  REQUIRE(static_cast<unsigned char*>(second)[12345] == 7);
  void* third = allocate(3 * kMiB);  // the first block is in use
  REQUIRE(third != first);
  release(second);
  void* other_class = allocate(4 * kMiB);
  REQUIRE(other_class != first);
  release(third);
  release(other_class);
}

TEST_CASE("the state is exact, and trim gives everything back") {
  trim();
  const PoolState start = pool_state();
  REQUIRE(start.enabled);
  REQUIRE(start.cached_bytes == 0);
  REQUIRE(start.limit_bytes > 0);
  REQUIRE(start.limit_bytes <= 1024 * kMiB);
  void* small = allocate(255 * kKiB);
  void* block = allocate(kMiB);
  REQUIRE(pool_state().used_bytes == start.used_bytes + kMiB);  // the small allocation is not from the pool
  release(small);
  release(block);
  REQUIRE(pool_state().used_bytes == start.used_bytes);
  REQUIRE(pool_state().cached_bytes == kMiB);
  REQUIRE(trim() == kMiB);
  REQUIRE(pool_state().cached_bytes == 0);
  REQUIRE(trim() == 0);
}

TEST_CASE("a class wastes at most a quarter") {
  for (size_t bytes = 256 * kKiB; bytes < 40 * kMiB; bytes = bytes * 9 / 8 + 1) {
    const size_t before = pool_state().used_bytes;
    void* block = allocate(bytes);
    const size_t taken = pool_state().used_bytes - before;
    REQUIRE(taken >= bytes);
    REQUIRE(taken <= bytes + bytes / 4);
    release(block);
  }
  trim();
}

TEST_CASE("the pool never keeps more than its limit") {
  trim();
  const size_t limit = pool_state().limit_bytes;
  const size_t bytes = 16 * kMiB;
  std::vector<void*> blocks;
  for (size_t total = 0; total < limit + 4 * bytes; total += bytes)
    blocks.push_back(allocate(bytes));  // the memory is not written
  for (void* block : blocks) release(block);
  REQUIRE(pool_state().cached_bytes <= limit);
  REQUIRE(pool_state().cached_bytes + bytes > limit);
  void* huge = allocate(limit + 1);
  release(huge);
  REQUIRE(pool_state().cached_bytes <= limit);
  trim();
}

TEST_CASE("impossible sizes are refused and leave the pool usable") {
  REQUIRE_THROWS_AS(allocate(SIZE_MAX), std::bad_alloc);
  REQUIRE_THROWS_AS(allocate(SIZE_MAX / 4), std::bad_alloc);
  REQUIRE_THROWS_AS(allocate(size_t{1} << 60), std::bad_alloc);
  void* block = allocate(kMiB);
  std::memset(block, 1, kMiB);
  release(block);
}

TEST_CASE("any thread may allocate and release") {
  std::vector<std::atomic<void*>> slots(64);
  for (auto& slot : slots) slot = nullptr;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = 64 * kKiB + random() % (3 * kMiB);
        auto* fresh = static_cast<unsigned char*>(allocate(bytes));
        const auto tag = static_cast<unsigned char>(random());
        fresh[0] = tag;
        fresh[bytes - 1] = tag;
        if (fresh[0] != tag || fresh[bytes - 1] != tag) wrong = true;
        release(slots[random() % slots.size()].exchange(fresh));  // often a block that another thread allocated
        if (i % 500 == 0) trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) release(slot);
  REQUIRE_FALSE(wrong);
  trim();
  REQUIRE(pool_state().used_bytes == 0);
}

TEST_CASE("a child forked while others allocate can allocate") {
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) release(allocate(kMiB));
  });
  int good = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      void* block = allocate(kMiB);
      std::memset(block, 1, kMiB);
      release(block);
      trim();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  stop = true;
  busy.join();
  REQUIRE(good == 50);
}
