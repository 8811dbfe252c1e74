// record.h: what the machines of this process were asked for that a GPU would wait for or order, so that tests can
// count it; and two things that a GPU does and the CPU in its place does not, unless it is told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gs::reference {

struct Record {
  // One stream that waits for another, by what the call was named: wait_for, go_before.
  struct Order {
    std::string call;
    int device = 0;
    uintptr_t stream = 0;
    uintptr_t other = 0;
  };

  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> waits{0};   // read, read_status, synchronize, a receipt that was not ready
  std::atomic<int64_t> writes{0};  // copies from the host
  std::atomic<int64_t> asks{0};    // whether a receipt is ready
  std::atomic<int64_t> live{0};    // blocks of memory that are allocated
  std::atomic<bool> holds_receipts{false};
  std::atomic<bool> is_capturing{false};

  void add(const char* call, int device, uintptr_t stream, uintptr_t other) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({call, device, stream, other});
  }
  std::vector<Order> take_orders() {
    const std::lock_guard lock(mutex_);
    return std::exchange(orders_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Order> orders_;
};

inline Record& record() {
  static Record instance;
  return instance;
}

}  // namespace gs::reference
