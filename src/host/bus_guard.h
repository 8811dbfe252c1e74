// bus_guard.h: lets a call go on where a page of a mapped file cannot be read, so that it ends with an error, and the
// process does not end with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::host {

// While a guard exists, pages of its range that cannot be read, because the file was truncated or its disk reports an
// error, are replaced by pages of zeros, on all threads. The end of the last guard of a page brings the page of the
// file back. Kernels need not know: they read zeros, and what they wrote is dropped by their call.
class BusGuard {
 public:
  // Replaces the handler of SIGBUS at the first use; a signal for any other address goes on to the handler before. If
  // there are more guards than places for them, the range stays without one.
  BusGuard(const std::byte* first, int64_t bytes);
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  // Whether a page of the range was replaced since the guard was made, or was at that time.
  bool has_failed() const;

 private:
  int place_;
};

}  // namespace gs::host
