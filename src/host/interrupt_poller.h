// interrupt_poller.h: asks now and then, on the calling thread, whether a run is to stop.
#pragma once

#include <chrono>

namespace gs::host {

class InterruptPoller {
 public:
  using Clock = std::chrono::steady_clock;

  // A question to Python takes its lock: not more often than every 10 ms. Without a function nobody is asked.
  explicit InterruptPoller(bool (*interrupted)(), Clock::duration every = std::chrono::milliseconds(10))
      : interrupted_(interrupted), every_(every) {}

  // Whether to go on. Once the answer was to stop it stays so: asked again, nobody would say it any more.
  bool proceed() {
    if (interrupted_ == nullptr || stopped_) return !stopped_;
    const auto now = Clock::now();
    if (now - asked_ < every_) return true;
    asked_ = now;
    stopped_ = interrupted_();
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  bool (*interrupted_)();
  Clock::duration every_;
  Clock::time_point asked_ = Clock::now();
  bool stopped_ = false;
};

}  // namespace gs::host
