// thread_pool.cpp: implements the thread pool, whose threads claim work chunks from one atomic word.
#include "host/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "host/affinity.h"

namespace gs::host {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int kMaxHelpers = 1023;
constexpr int kNone = -1;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls done() for a short time without yielding the processor.
template <class Done>
bool spin_until(Done done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// The open word holds the number of work chunks left (low half) and of helpers allowed (high half). One
// compare-and-swap claims a work chunk. After it, the task exists at least until the claiming thread reports the work
// chunk as finished, because the caller waits for that. A helper reads the task only after a claim, so it may arrive
// late by any time.
constexpr uint64_t open_word(int helpers, int64_t left) {
  return (static_cast<uint64_t>(helpers) << 32) | static_cast<uint64_t>(left);
}
constexpr int64_t chunks_left(uint64_t word) {
  return static_cast<int64_t>(word & UINT32_MAX);
}
constexpr int helpers_allowed(uint64_t word) {
  return static_cast<int>(word >> 32);
}

bool run_alone(const Task& task) {
  for (int64_t chunk = 0; chunk < task.chunks; ++chunk) {
    if (!task.run(task.context, chunk)) return false;
    if (task.poller != nullptr && !task.poller->proceed(chunk + 1, task.chunks)) return false;
  }
  return true;
}

class Pool {
 public:
  Pool() : owner_(getpid()) {}
  pid_t owner() const { return owner_; }

  bool run(int threads, const Task& task) {
    std::unique_lock<std::mutex> only(busy_, std::try_to_lock);
    if (!only.owns_lock()) return run_alone(task);
    const int helpers = start_helpers(static_cast<int>(std::min<int64_t>(threads, task.chunks)) - 1);
    place(helpers);
    task_ = task;
    failed_.store(false);
    out_of_memory_.store(false);
    finished_.store(0);
    dropped_.store(0);
    open_.store(open_word(helpers, task.chunks));
    calls_.fetch_add(1);
    calls_.notify_all();

    for (int64_t chunk = 0; claim(0, chunk);) {
      const bool good = run(task, chunk) && (task.poller == nullptr || task.poller->proceed(chunk, task.chunks));
      report(good);
    }
    wait_for_others(static_cast<uint32_t>(task.chunks));
    if (out_of_memory_.load()) throw std::bad_alloc();
    return dropped_.load() == 0 && !failed_.load();
  }

 private:
  bool run(const Task& task, int64_t chunk) try {
    return task.run(task.context, chunk);
  } catch (const std::bad_alloc&) {
    out_of_memory_.store(true);
    return false;
  }

  // Claims the next work chunk. Worker 0 is the calling thread.
  bool claim(int worker, int64_t& chunk) {
    uint64_t word = open_.load();
    while (chunks_left(word) > 0 && worker <= helpers_allowed(word)) {
      if (open_.compare_exchange_weak(word, word - 1)) {
        chunk = task_.chunks - chunks_left(word);
        return true;
      }
    }
    return false;
  }

  // After a failure, the work chunks that no thread has claimed are dropped before the failed one counts as finished,
  // so that the caller cannot miss the failure.
  void report(bool good) {
    if (!good) {
      failed_.store(true);
      dropped_.fetch_add(static_cast<uint32_t>(chunks_left(open_.exchange(0))));
    }
    finished_.fetch_add(1);
    finished_.notify_one();
  }

  void wait_for_others(uint32_t chunks) {
    const auto done = [&] { return finished_.load() + dropped_.load() == chunks; };
    if (spin_until(done)) return;
    for (uint32_t now = finished_.load(); !done(); now = finished_.load()) finished_.wait(now);
  }

  void help(int worker) {
    for (;;) {
      const uint32_t call = calls_.load();
      for (int64_t chunk = 0; claim(worker, chunk);) {
        report(run(task_, chunk));
      }
      if (!spin_until([&] { return calls_.load() != call; })) calls_.wait(call);
    }
  }

  // Starts helpers until there are `wanted`, or as many as the system allows; returns how many the task may use.
  // Helpers block all signals, so that signals reach the threads of the program.
  int start_helpers(int wanted) {
    wanted = std::min(wanted, kMaxHelpers);
    if (started_ >= wanted) return wanted;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);  // a fault of the helper itself, which Python's faulthandler reports
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      handles_.reserve(static_cast<std::size_t>(wanted));
      while (started_ < wanted) {
        std::thread helper([this, worker = started_ + 1] { help(worker); });
        handles_.push_back(helper.native_handle());
        helper.detach();
        ++started_;
      }
    } catch (const std::exception&) {  // no more threads or memory: the threads that exist do the work
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return std::min(started_, wanted);
  }

  // Restricts the helpers to the processors that the caller may use, without the one that the caller runs on: a helper
  // that wakes up there may stay for milliseconds, and two threads then do the work of one. A gather of 2 Mi points
  // took 3.4 ms instead of 1.8, call after call. Every change of masks costs a system call for each helper, so that the
  // caller's processor is not avoided if the caller has changed processors, or if more processors than threads exist.
  void place(int helpers) {
    const Affinity& mask = Affinity::of_caller();
    const int here = sched_getcpu();
    const bool stays = here == last_;
    last_ = here;
    const int count = mask.count();
    const bool avoids = stays && mask.has(here) && count > 1 && helpers + 1 >= count;
    if (!(mask == mask_)) {
      mask_ = mask;
      avoided_ = kNone;
      placed_ = 0;
    }
    if (avoids && here != avoided_) {
      avoided_ = here;
      placed_ = 0;
    }
    if (count == 0 || placed_ >= helpers) return;
    Affinity allowed = mask_;
    allowed.remove(avoided_);
    for (; placed_ < helpers; ++placed_) allowed.give_to(handles_[static_cast<std::size_t>(placed_)]);
  }

  const pid_t owner_;
  std::mutex busy_;  // held by the caller whose task the helpers run
  int started_ = 0;
  std::vector<pthread_t> handles_;
  Affinity mask_;        // mask of the caller
  int avoided_ = kNone;  // processor that is removed from the helpers' mask
  int placed_ = 0;       // the first `placed_` helpers have the mask
  int last_ = kNone;     // the processor of the last caller
  Task task_;
  alignas(64) std::atomic<uint64_t> open_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> out_of_memory_{false};
  alignas(64) std::atomic<uint32_t> finished_{0};
  std::atomic<uint32_t> dropped_{0};
  alignas(64) std::atomic<uint32_t> calls_{0};  // sleeping helpers wait until it changes
};

// Never destroyed: helpers may outlive the static objects of the program.
std::atomic<Pool*> current_pool{nullptr};

// A forked child has no helpers, and the threads that held the locks of the pool may not exist in it. So the child does
// not use the old pool and does not free it.
void forget_pool() {
  current_pool.store(nullptr);
}
[[maybe_unused]] const int kForgetInChild = pthread_atfork(nullptr, nullptr, forget_pool);

Pool* pool() {
  Pool* found = current_pool.load();
  // Not every way to create a process runs the handlers of fork, so that the process id is compared as well.
  if (found != nullptr && found->owner() == getpid()) return found;
  auto* fresh = new (std::nothrow) Pool;
  if (fresh == nullptr || current_pool.compare_exchange_strong(found, fresh)) return fresh;
  delete fresh;
  return found;
}

}  // namespace

bool run_task(int threads, const Task& task) {
  Pool* const helpers = threads > 1 && task.chunks > 1 ? pool() : nullptr;
  return helpers == nullptr ? run_alone(task) : helpers->run(threads, task);
}

}  // namespace gs::host
