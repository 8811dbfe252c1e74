// interrupt_poller.h: polls, on the calling thread, whether a run must stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "host/progress.h"

namespace gs::host {

class InterruptPoller {
 public:
  using Clock = std::chrono::steady_clock;

  // The least milliseconds between two polls, because a poll of Python takes the GIL. Tests shorten them.
  static constexpr int64_t kInterval = 10;
  static inline std::atomic<int64_t> interval = kInterval;

  // A null function never stops the run.
  explicit InterruptPoller(bool (*interrupted)()) : InterruptPoller(interrupted, std::chrono::milliseconds(interval)) {}
  InterruptPoller(bool (*interrupted)(), Clock::duration every) : interrupted_(interrupted), every_(every) {}

  // Whether the run goes on. Once it is stopped it stays stopped: the function need not report an interrupt twice. If
  // `count` is given, `done` of it is the progress of what the run works on.
  bool proceed(int64_t done = 0, int64_t count = 0) {
    if (interrupted_ == nullptr || stopped_) return !stopped_;
    const auto now = Clock::now();
    if (now - polled_ < every_) return true;
    polled_ = now;
    if (count > 0) Progress::current().reach(static_cast<double>(done) / static_cast<double>(count));
    stopped_ = interrupted_();
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  bool (*interrupted_)();
  Clock::duration every_;
  Clock::time_point polled_ = Clock::now();
  bool stopped_ = false;
};

}  // namespace gs::host
