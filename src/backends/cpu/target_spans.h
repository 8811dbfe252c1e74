// target_spans.h: the lowest and the highest target of each block of points of a scatter. Where indices are sorted, or
// come in clusters, a thread skips the blocks that have no target of its own.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/partitioned_scatter.h"

namespace gs::cpu {

inline constexpr int64_t kScanGrain = 64;       // work chunks of positions begin at a cache line
inline constexpr int64_t kLeastSpans = 16;      // blocks: with fewer every thread reads all points
inline constexpr int64_t kMostSpans = 1 << 16;  // blocks: longer ones keep the memory for spans small

// The points of a block of so many points; blocks begin at cache lines of positions.
int64_t span_points_for(const Tuning& tuning, int64_t count);

// The points of a block whose span pays to know; 0 unless a sample of the indices says that the targets of a block lie
// close together, and one contiguous index array gives the targets alone.
int64_t paying_span_points(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers);

// The spans of an index array of `count` indices in blocks of `points`, which are not filled in yet.
BlockSpans empty_spans(const std::byte* index, int64_t count, int64_t points);

// The span of the positions that n indices give; kAnywhere if some of them are negative and others not, or if a rule
// changes one.
IndexSpan position_span(FindIndexSpan find, const IndexArray& index, Rule rule, const std::byte* indices, int64_t n);

class TargetSpans {
 public:
  TargetSpans() = default;
  // Takes the spans that a check has found, or reads all indices where these pay.
  TargetSpans(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
              const RunOptions& options);
  bool empty() const { return spans().of_block.empty(); }
  bool interrupted() const { return interrupted_; }

  // Whether blocks seldom have targets of several ranges, which lie between these bounds.
  bool divide(const std::vector<Address>& bounds) const;

  // Calls visit(first, last, all) for the points [first, last) of neighbouring blocks that have targets in `own`, in
  // flat order; `all`: they have no others. Begins with the block `next`, and sets it to the one after the last block
  // that it has looked at, which is the last of all unless these points are as many as `most`. Stops and returns false
  // as soon as `visit` does.
  template <class Visit>
  bool for_each_run(AddressRange own, int64_t& next, int64_t most, const Visit& visit) const;
  int64_t blocks() const { return static_cast<int64_t>(spans().of_block.size()); }

 private:
  enum class Overlap { none, some, all };
  Overlap overlap(int64_t block, AddressRange own) const;
  const BlockSpans& spans() const { return found_ != nullptr ? *found_ : own_; }
  // The beginnings of the targets of some positions.
  AddressRange targets_of(IndexSpan span) const {
    if (span.lowest < 0) return {};
    return {base_ + static_cast<Address>(span.lowest) * step_, base_ + static_cast<Address>(span.highest) * step_ + 1};
  }

  const BlockSpans* found_ = nullptr;  // by a check, which keeps them
  BlockSpans own_;
  Address base_ = 0;  // of position 0
  Address step_ = 0;  // from a position to the next one
  bool interrupted_ = false;
};

inline TargetSpans::Overlap TargetSpans::overlap(int64_t block, AddressRange own) const {
  const AddressRange span = targets_of(spans().of_block[static_cast<std::size_t>(block)]);
  if (span.high <= own.low || span.low >= own.high) return Overlap::none;
  return span.low >= own.low && span.high <= own.high ? Overlap::all : Overlap::some;
}

template <class Visit>
bool TargetSpans::for_each_run(AddressRange own, int64_t& next, int64_t most, const Visit& visit) const {
  const int64_t points = spans().points;
  for (int64_t left = most; left > 0 && next < blocks();) {
    const int64_t block = next;
    const Overlap here = overlap(block, own);
    const int64_t longest = here == Overlap::none ? blocks() : (left + points - 1) / points;
    for (++next; next < blocks() && next - block < longest && overlap(next, own) == here;) ++next;
    if (here == Overlap::none) continue;
    const int64_t last = std::min(next * points, spans().count);
    left -= last - block * points;
    if (!visit(block * points, last, here == Overlap::all)) return false;
  }
  return true;
}

}  // namespace gs::cpu
