// thread_count.h: holds the number of threads that a call may use.
#pragma once

namespace gs {

// A number, or a function that computes it on first use: counting the processors that the caller may use takes a system
// call, which short calls avoid. The first use must be on the calling thread, before other threads work on the call,
// because it is not synchronised.
class ThreadCount {
 public:
  using Source = int (*)();
  ThreadCount(int count) : count_(count) {}
  ThreadCount(Source source) : source_(source) {}
  operator int() const {
    if (count_ == 0) count_ = source_();
    return count_;
  }

 private:
  mutable int count_ = 0;
  Source source_ = nullptr;
};

}  // namespace gs
