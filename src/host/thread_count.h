// thread_count.h: how many threads a call may use.
#pragma once

namespace gs {

// A number that was set, or a function that finds it: it is asked once, when the number is first looked at. To count
// the processors that the caller may use takes a system call, which short calls do without. First looked at by the
// calling thread, before others work on the call.
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
