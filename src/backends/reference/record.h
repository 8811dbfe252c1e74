// record.h: counts the calls of this process's machines that cost time on a GPU, for tests.
//
// Two switches make the emulated GPU behave like a GPU where it otherwise does not: receipts that are not ready, and
// streams that are captured.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gs::reference {

struct Record {
  // A call that makes one stream wait for another; `call` is its name, wait_for or go_before.
  struct Order {
    std::string call;
    int device = 0;
    uintptr_t stream = 0;
    uintptr_t other = 0;
  };

  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> waits{0};   // read, read_status, synchronize, status() of a receipt that is not ready
  std::atomic<int64_t> writes{0};  // copies from host memory
  std::atomic<int64_t> asks{0};    // queries whether a receipt is ready
  std::atomic<int64_t> live{0};    // results allocated and not yet released
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
