// target_spans.h: the lowest and the highest target of each block of points of a scatter. Where indices are sorted, or
// come in clusters, a thread skips the blocks that have no target of its own.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/partitioned_scatter.h"

namespace gs::cpu {

class TargetSpans {
 public:
  TargetSpans() = default;
  // Reads all indices if a sample of them says that the targets of a block lie close together. Otherwise, and where one
  // contiguous index array does not give the targets alone, there are no spans.
  TargetSpans(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options);
  bool empty() const { return spans_.empty(); }
  bool interrupted() const { return interrupted_; }

  // Whether blocks seldom have targets of several ranges, which lie between these bounds.
  bool divide(const std::vector<Address>& bounds) const;

  // Calls visit(first, last, all) for the points [first, last) of neighbouring blocks that have targets in `own`, in
  // flat order; `all`: they have no others. Begins with the block `next`, and sets it to the one after the last block
  // that it has looked at, which is the last of all unless these points are as many as `most`. Stops and returns false
  // as soon as `visit` does.
  template <class Visit>
  bool for_each_run(AddressRange own, int64_t& next, int64_t most, const Visit& visit) const;
  int64_t blocks() const { return static_cast<int64_t>(spans_.size()); }

 private:
  enum class Overlap { none, some, all };
  Overlap overlap(int64_t block, AddressRange own) const;

  std::vector<AddressRange> spans_;  // the beginnings of the targets of each block
  int64_t block_ = 0;                // points; the last block may have fewer
  int64_t count_ = 0;
  bool interrupted_ = false;
};

inline TargetSpans::Overlap TargetSpans::overlap(int64_t block, AddressRange own) const {
  const AddressRange& span = spans_[static_cast<std::size_t>(block)];
  if (span.high <= own.low || span.low >= own.high) return Overlap::none;
  return span.low >= own.low && span.high <= own.high ? Overlap::all : Overlap::some;
}

template <class Visit>
bool TargetSpans::for_each_run(AddressRange own, int64_t& next, int64_t most, const Visit& visit) const {
  for (int64_t left = most; left > 0 && next < blocks();) {
    const int64_t block = next;
    const Overlap here = overlap(block, own);
    const int64_t longest = here == Overlap::none ? blocks() : (left + block_ - 1) / block_;
    for (++next; next < blocks() && next - block < longest && overlap(next, own) == here;) ++next;
    if (here == Overlap::none) continue;
    const int64_t last = std::min(next * block_, count_);
    left -= last - block * block_;
    if (!visit(block * block_, last, here == Overlap::all)) return false;
  }
  return true;
}

}  // namespace gs::cpu
