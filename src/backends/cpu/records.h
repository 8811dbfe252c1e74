// records.h: what a reduction keeps of its targets: memory, kinds and sweeps.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"
#include "core/combine.h"
#include "core/plan.h"
#include "host/memory_pool.h"
#include "host/zero_pages.h"

namespace gs::cpu {

// Whether each of the slots, places for items between the lowest and the highest address, can be a target.
bool is_gapless(const Plan& plan, int64_t slots);
// Whether one window of totals holds all targets, so that no point needs to be compared with its range. An unchecked
// index may lie outside of it.
bool has_one_window(const Plan& plan, const Tuning& tuning);
// Whether a mean has more values than 32 bits count.
bool counts_are_long(const Plan& plan, const Tuning& tuning, const Combine& combine);

// Runs a sweep over the records of so many slots, on several threads. A record has `record` bytes, a target `item`.
void sweep_records(int threads, Sweep sweep, const Window& totals, int64_t slots, int64_t record, int64_t item);

// If few records will be used, the memory is zeroed pages of the system, which cost nothing until they are touched;
// otherwise recycled memory, which is not initialised.
class Records {
 public:
  Records(int64_t bytes, bool zeroed) : recycled_(!zeroed), bytes_(static_cast<std::size_t>(bytes)) {
    data_ = static_cast<std::byte*>(recycled_ ? host::allocate(bytes_) : std::calloc(bytes_, 1));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() {
    if (recycled_) {
      host::release(data_);
    } else {
      std::free(data_);
    }
  }
  std::byte* data() const { return data_; }
  void clear() {
    if (recycled_) {
      std::memset(data_, 0, bytes_);
    } else {
      host::zero_pages(data_, bytes_);
    }
  }

 private:
  bool recycled_;
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace gs::cpu
