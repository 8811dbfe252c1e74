// test_bus_guard.cpp: reads beyond the end of truncated files, on several threads, in nested ranges, and outside of
// them.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <thread>

#include "host/bus_guard.h"
#include "mapped_file.h"

using namespace gs::host;
using gs::test::kFilePage;
using gs::test::MappedFile;

namespace {

std::byte at(const MappedFile& file, int64_t page) {
  return *static_cast<const volatile std::byte*>(file.data() + page * kFilePage);
}

// The signal that ends a child which runs `work`; 0 if none does.
template <class Work>
int signal_of_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("pages that a file lost hold zeros while it is guarded, and are those of the file again afterwards") {
  for (const bool is_shared : {true, false}) {
    const MappedFile file(1000 * kFilePage, is_shared);
    const std::byte mark{7};
    for (int64_t page = 0; page < 1000; ++page) file.write(page * kFilePage, &mark, 1);
    file.truncate(10 * kFilePage);
    {
      const BusGuard guard(file.data(), file.bytes());
      REQUIRE(at(file, 9) == mark);
      REQUIRE_FALSE(guard.has_failed());
      for (const int64_t page : {500, 999, 10, 400, 501, 11, 12}) REQUIRE(at(file, page) == std::byte{0});
      REQUIRE(at(file, 9) == mark);  // few pages are lost, so the others are those of the file
      for (int64_t page = 10; page < 1000; ++page) REQUIRE(at(file, page) == std::byte{0});
      file.data()[700 * kFilePage] = std::byte{1};  // a scatter may write there
      REQUIRE(guard.has_failed());
    }
    file.truncate(1000 * kFilePage);
    for (int64_t page = 10; page < 1000; ++page) file.write(page * kFilePage, &mark, 1);
    for (int64_t page = 0; page < 1000; ++page) REQUIRE(at(file, page) == mark);
    const BusGuard guard(file.data(), file.bytes());
    REQUIRE(at(file, 999) == mark);
    REQUIRE_FALSE(guard.has_failed());
  }
}

TEST_CASE("guards of one range learn of its faults, those of other ranges do not") {
  const MappedFile file(100 * kFilePage);
  const MappedFile other(100 * kFilePage);
  const BusGuard elsewhere(other.data(), other.bytes());
  const BusGuard low(file.data(), 50 * kFilePage);
  {
    const BusGuard all(file.data(), file.bytes());
    file.truncate(0);
    REQUIRE(at(file, 60) == std::byte{0});
    REQUIRE(all.has_failed());
    REQUIRE_FALSE(low.has_failed());
    REQUIRE(at(file, 20) == std::byte{0});
    REQUIRE(low.has_failed());
    const BusGuard late(file.data(), 21 * kFilePage);
    REQUIRE(late.has_failed());  // its pages hold zeros already
  }
  REQUIRE(at(file, 20) == std::byte{0});  // still guarded by `low`
  REQUIRE_FALSE(elsewhere.has_failed());
}

TEST_CASE("threads may meet the same and other pages at the same time") {
  for (int round = 0; round < 20; ++round) {
    const MappedFile file(5000 * kFilePage);
    file.truncate(0);
    const BusGuard guard(file.data(), file.bytes());
    std::atomic<int64_t> sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int64_t i = 0; i < 2000; ++i) sum += static_cast<int64_t>(at(file, (i * 37 + t * 1250) % 5000));
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(sum == 0);
    REQUIRE(guard.has_failed());
  }
}

TEST_CASE("any number of pages in any order may be lost") {
  const MappedFile file(20'000 * kFilePage);
  const BusGuard other(file.data() + 100 * kFilePage, kFilePage);
  const BusGuard guard(file.data() + 5, file.bytes() - 5);
  file.truncate(3 * kFilePage);
  for (int64_t i = 0; i < 20'000; ++i) REQUIRE(at(file, i * 7919 % 20'000) == std::byte{0});
  REQUIRE(guard.has_failed());
  REQUIRE(other.has_failed());
}

TEST_CASE("a fault outside of every range ends the process") {
  const MappedFile file(100 * kFilePage);
  file.truncate(0);
  {
    const BusGuard guard(file.data(), 10 * kFilePage);  // installs the handler
  }
  REQUIRE(signal_of_child([&] { at(file, 5); }) == SIGBUS);
  REQUIRE(signal_of_child([&] {
            const BusGuard guard(file.data(), 10 * kFilePage);
            at(file, 10);
          }) == SIGBUS);
  REQUIRE(signal_of_child([&] {
            const BusGuard guard(file.data(), 10 * kFilePage);
            at(file, 9);
          }) == 0);
  REQUIRE(signal_of_child([&] {
            const BusGuard guard(file.data(), 10 * kFilePage);
            raise(SIGBUS);
          }) == SIGBUS);
}

TEST_CASE("more guards than places leave the rest without one") {
  const MappedFile file(kFilePage);
  std::vector<std::unique_ptr<BusGuard>> guards;
  for (int i = 0; i < 100; ++i) guards.push_back(std::make_unique<BusGuard>(file.data(), file.bytes()));
  REQUIRE_FALSE(guards.back()->has_failed());
  guards.clear();
  file.truncate(0);
  const BusGuard guard(file.data(), file.bytes());
  REQUIRE(at(file, 0) == std::byte{0});
  REQUIRE(guard.has_failed());
}
