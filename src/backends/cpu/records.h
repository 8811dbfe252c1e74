// records.h: what a reduction keeps of its targets: memory, kinds and sweeps.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"
#include "core/combine.h"
#include "core/plan.h"
#include "host/memory_pool.h"
#include "host/zero_pages.h"

namespace gs::cpu {

inline constexpr int64_t kSparseSlots = 4;  // slots for each value: above, most running totals stay unused

// Whether a sweep over the records of all slots, places for items between the lowest and the highest address, is
// allowed and pays. It reads and writes all of them. Slots that are no targets may belong to other arrays, so that
// there must be no gaps; and with few values it does not pay.
bool is_dense(const Plan& plan, int64_t slots);
// Whether one window of totals holds all targets, so that no point needs to be compared with its range. An unchecked
// index may lie outside of it.
bool has_one_window(const Plan& plan, const Tuning& tuning);
// Whether a mean has more values than 32 bits count.
bool counts_are_long(const Plan& plan, const Tuning& tuning, const Combine& combine);

// Runs a sweep over the records of so many slots, on several threads. A record has `record` bytes, a target `item`.
void sweep_records(int threads, Sweep sweep, const Window& totals, int64_t slots, int64_t record, int64_t item);

// If few records will be used, long memory is zeroed pages, of which only those of used records are ever touched. Other
// memory is recycled, and zero only if that is asked for.
class Records {
 public:
  Records(int64_t bytes, bool zeroed) : bytes_(static_cast<std::size_t>(bytes)) {
    if (zeroed && bytes_ >= kLeastPages) {
      data_ = pages_.emplace(bytes_).data();
      return;
    }
    data_ = static_cast<std::byte*>(host::allocate(bytes_));
    if (zeroed) clear();
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() {
    if (!pages_) host::release(data_);
  }
  std::byte* data() const { return data_; }
  void clear() {
    if (pages_) {
      pages_->clear();
    } else {
      std::memset(data_, 0, bytes_);
    }
  }

 private:
  static constexpr std::size_t kLeastPages = 256 * 1024;  // bytes; mapping fewer costs more than clearing them
  std::size_t bytes_;
  std::optional<host::ZeroPages> pages_;
  std::byte* data_;
};

}  // namespace gs::cpu
