// test_thread_pool.cpp: every work chunk runs once, on any thread: many callers, early ends, forked children.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "catch.h"
#include "host/host_info.h"
#include "host/thread_pool.h"
#include "processors.h"

using gs::host::InterruptPoller;
using gs::host::run_task;
using gs::host::Task;
using gs::test::allow_here;
using gs::test::on_own_thread;
using gs::test::processors_here;

namespace {

struct Counts {
  explicit Counts(int64_t chunks)
      : runs(std::make_unique<std::atomic<int>[]>(static_cast<size_t>(chunks))), size(chunks) {
    for (int64_t i = 0; i < chunks; ++i) runs[static_cast<size_t>(i)] = 0;
  }
  bool all_are(int wanted) const {
    for (int64_t i = 0; i < size; ++i) {
      if (runs[static_cast<size_t>(i)] != wanted) return false;
    }
    return true;
  }
  std::unique_ptr<std::atomic<int>[]> runs;
  int64_t size;
  std::atomic<int64_t> fail_at = -1;
  std::atomic<int> polls = 0;
  int stop_after = 0;  // 0: does not stop
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> polled_elsewhere = false;
};

bool count_chunk(void* context, int64_t chunk) {
  auto& counts = *static_cast<Counts*>(context);
  ++counts.runs[static_cast<size_t>(chunk)];
  return chunk != counts.fail_at;
}

Counts* polled_counts = nullptr;  // the counts of the current task

bool interrupted() {
  Counts& counts = *polled_counts;
  if (std::this_thread::get_id() != counts.caller) counts.polled_elsewhere = true;
  return ++counts.polls == counts.stop_after;
}

bool runs_every_chunk_once(int threads, int64_t chunks) {
  Counts counts(chunks);
  return run_task(threads, Task{chunks, count_chunk, &counts}) && counts.all_are(1);
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kCanForkWithThreads = false;  // the sanitizer does not support threads in a forked child
#else
constexpr bool kCanForkWithThreads = true;
#endif

// Runs check() in a forked child; true if it returned true there.
template <class Check>
bool in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that hangs must not block the test
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The processors that the helpers of a task may use, with one entry for each work chunk that a helper ran. The caller
// waits until there is one.
std::vector<std::vector<int>> processors_of_helpers(int threads) {
  struct Seen {
    std::thread::id caller = std::this_thread::get_id();
    std::mutex one;
    std::vector<std::vector<int>> found;
    std::atomic<bool> helped = false;
  } seen;
  const auto run = [](void* context, int64_t) {
    auto& all = *static_cast<Seen*>(context);
    if (std::this_thread::get_id() != all.caller) {
      const std::lock_guard<std::mutex> lock(all.one);
      all.found.push_back(processors_here());
      all.helped = true;
    }
    for (int i = 0; i < 10000 && !all.helped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  };
  REQUIRE(run_task(threads, Task{8, run, &seen}));
  REQUIRE(seen.helped);
  return seen.found;
}

bool contains(const std::vector<int>& all, const std::vector<int>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

TEST_CASE("helpers run where their caller may run, also after its mask has changed") {
  on_own_thread([](const std::vector<int>& all) {
    if (all.size() < 2) {
      WARN("skipped: needs two processors");
      return;
    }
    const std::vector<int> first = {all.front()};
    const std::vector<int> last = {all.back()};
    for (const std::vector<int>& allowed : {all, first, last, all, last, first}) {
      allow_here(allowed);
      for (const int threads : {2, 4}) {
        INFO("allowed: " << allowed.front() << " to " << allowed.back() << ", " << threads << " threads");
        for (const std::vector<int>& helper : processors_of_helpers(threads)) {
          REQUIRE_FALSE(helper.empty());
          REQUIRE(contains(allowed, helper));
        }
      }
    }
  });
}

TEST_CASE("the helpers of each caller run on the processors of its mask") {
  std::atomic<int> wrong = 0;
  const std::vector<int> all = processors_here();
  std::vector<std::thread> callers;
  for (const std::vector<int>& allowed : {all, std::vector<int>{all.front()}, std::vector<int>{all.back()}}) {
    callers.emplace_back([&wrong, allowed] {
      struct Own {
        const std::vector<int>& allowed;
        std::atomic<int>& wrong;
      } own{allowed, wrong};
      const auto run = [](void* context, int64_t) {
        const auto& given = *static_cast<Own*>(context);
        given.wrong += contains(given.allowed, processors_here()) ? 0 : 1;
        std::this_thread::sleep_for(std::chrono::microseconds(100));  // gives helpers time to take part
        return true;
      };
      allow_here(allowed);
      for (int i = 0; i < 60; ++i) wrong += run_task(2 + i % 3, Task{20, run, &own}) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("more threads than the mask has processors run every chunk once") {
  on_own_thread([](const std::vector<int>& all) {
    allow_here({all.back()});
    for (int i = 0; i < 200; ++i) REQUIRE(runs_every_chunk_once(2 + i % 4, 1 + i));
  });
}

TEST_CASE("where all processors take part, no helper runs on the processor of a caller that stays there") {
  on_own_thread([](const std::vector<int>& all) {
    if (all.size() < 2) {
      WARN("skipped: needs two processors");
      return;
    }
    const std::vector<int> two = {all.front(), all.back()};
    allow_here(two);
    bool kept_away = false;
    for (int i = 0; i < 1000 && !kept_away; ++i) {
      runs_every_chunk_once(2, 20);
      const int here = sched_getcpu();
      const auto helpers = processors_of_helpers(2);
      kept_away = here == sched_getcpu() && helpers.back() == std::vector<int>{here == two[0] ? two[1] : two[0]};
    }
    REQUIRE(kept_away);
  });
}

TEST_CASE("every chunk runs once for every number of threads and chunks") {
  for (const int threads : {1, 2, 3, 8, 2, 1, 16}) {
    for (const int64_t chunks : {0, 1, 2, 3, 17, 1000}) {
      INFO(threads << " threads, " << chunks << " chunks");
      REQUIRE(runs_every_chunk_once(threads, chunks));
    }
  }
}

TEST_CASE("a failed allocation in a chunk, on any thread, throws in the caller once all threads have stopped") {
  for (const int64_t bad : {0, 1, 40, 99}) {
    std::atomic<int> running = 0;
    struct Context {
      std::atomic<int>* running;
      int64_t bad;
    } context{&running, bad};
    const auto run = [](void* given, int64_t chunk) {
      const auto& own = *static_cast<Context*>(given);
      ++*own.running;
      std::this_thread::yield();
      const bool fails = chunk >= own.bad;
      --*own.running;
      if (fails) throw std::bad_alloc();
      return true;
    };
    REQUIRE_THROWS_AS(run_task(3, {100, run, &context}), std::bad_alloc);
    REQUIRE(running == 0);
    Counts counts(50);
    REQUIRE(run_task(3, {50, count_chunk, &counts}));  // the pool still works
    REQUIRE(counts.all_are(1));
  }
}

TEST_CASE("thousands of short tasks in a row") {
  int good = 0;
  for (int i = 0; i < 5000; ++i) good += runs_every_chunk_once(3, 1 + i % 7) ? 1 : 0;
  REQUIRE(good == 5000);
}

TEST_CASE("helpers take part where there is enough to do") {
  struct Shared {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> helped = false;
  } shared;
  const auto run = [](void* context, int64_t) {
    auto& seen = *static_cast<Shared*>(context);
    if (std::this_thread::get_id() != seen.caller) seen.helped = true;
    // The caller waits until a helper runs; without helpers it would wait until the limit of the loop.
    for (int i = 0; i < 1000 && !seen.helped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  };
  REQUIRE(run_task(2, Task{8, run, &shared}));
  REQUIRE(shared.helped);
}

TEST_CASE("a failed chunk drops the chunks that were not begun") {
  for (const int threads : {1, 2, 4}) {
    for (int round = 0; round < 200; ++round) {
      Counts counts(500);
      counts.fail_at = round;
      REQUIRE_FALSE(run_task(threads, Task{500, count_chunk, &counts}));
      int64_t run = 0;
      bool twice = false;
      for (size_t i = 0; i < 500; ++i) {
        run += counts.runs[i];
        twice |= counts.runs[i] > 1;
      }
      REQUIRE_FALSE(twice);
      REQUIRE(counts.runs[static_cast<size_t>(round)] == 1);
      if (threads == 1) REQUIRE(run == round + 1);
    }
  }
}

TEST_CASE("the poll runs between the caller's chunks, on its own thread, and may stop the task") {
  for (const int threads : {1, 2, 4}) {
    Counts counts(100000);
    counts.stop_after = 3;
    polled_counts = &counts;
    InterruptPoller poller(interrupted, {});
    REQUIRE_FALSE(run_task(threads, Task{100000, count_chunk, &counts, &poller}));
    REQUIRE(poller.stopped());
    REQUIRE_FALSE(poller.proceed());  // and no poll follows
    REQUIRE(counts.polls == 3);
    REQUIRE_FALSE(counts.polled_elsewhere);
  }
  Counts counts(1000);
  polled_counts = &counts;
  InterruptPoller poller(interrupted, {});
  REQUIRE(run_task(2, Task{1000, count_chunk, &counts, &poller}));
  REQUIRE(counts.all_are(1));
  REQUIRE(counts.polls > 0);
}

TEST_CASE("many callers at a time all make progress") {
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&good, c] {
      for (int i = 0; i < 500; ++i) good += runs_every_chunk_once(2 + c % 3, 1 + (i * 7 + c) % 40) ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  REQUIRE(good == 8 * 500);
}

TEST_CASE("a task within a chunk of another task runs") {
  const auto outer = [](void* context, int64_t) {
    *static_cast<std::atomic<int>*>(context) += runs_every_chunk_once(2, 50) ? 1 : 0;
    return true;
  };
  std::atomic<int> good = 0;
  REQUIRE(run_task(2, Task{20, outer, &good}));
  REQUIRE(good == 20);
}

TEST_CASE("a forked child has helpers of its own") {
  if (!kCanForkWithThreads) {
    WARN("skipped: the thread sanitizer does not support it");
    return;
  }
  REQUIRE(runs_every_chunk_once(2, 100));
  REQUIRE(in_child([] { return runs_every_chunk_once(2, 100) && runs_every_chunk_once(4, 1000); }));
  REQUIRE(runs_every_chunk_once(2, 100));
}

TEST_CASE("fork while other threads use the pool") {
  if (!kCanForkWithThreads) {
    WARN("skipped: the thread sanitizer does not support it");
    return;
  }
  std::atomic<bool> stop = false;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> busy;
  for (int c = 0; c < 2; ++c) {
    busy.emplace_back([&] {
      while (!stop) {
        if (!runs_every_chunk_once(3, 64)) wrong = true;
      }
    });
  }
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    good += in_child([] { return runs_every_chunk_once(3, 200); }) ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  REQUIRE(good == 20);
  REQUIRE_FALSE(wrong);
}
