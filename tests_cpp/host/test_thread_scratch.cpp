// test_thread_scratch.cpp: the scratch of each thread: its alignment, its owner, and that all of it can be written.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "catch.h"
#include "host/thread_scratch.h"

using namespace gs::host;

TEST_CASE("a thread has one scratch, aligned and writable as a whole") {
  std::byte* const mine = thread_scratch();
  REQUIRE(reinterpret_cast<uintptr_t>(mine) % 64 == 0);
  std::memset(mine, 1, kScratchBytes);
  REQUIRE(thread_scratch() == mine);
}

TEST_CASE("threads that live at the same time have scratches apart") {
  constexpr std::size_t kThreads = 8;
  std::byte* const mine = thread_scratch();  // before the others, whose memory may be used again once they have ended
  std::vector<std::byte*> found(kThreads);
  std::atomic<std::size_t> written = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      found[i] = thread_scratch();
      std::memset(found[i], static_cast<int>(i), kScratchBytes);
      ++written;
      while (written < kThreads) std::this_thread::yield();
      const std::vector<std::byte> same(kScratchBytes, static_cast<std::byte>(i));
      if (std::memcmp(found[i], same.data(), kScratchBytes) != 0) found[i] = nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::byte*> apart(found.begin(), found.end());
  REQUIRE(apart.size() == kThreads);
  REQUIRE(apart.count(nullptr) == 0);
  REQUIRE(apart.count(mine) == 0);
}
