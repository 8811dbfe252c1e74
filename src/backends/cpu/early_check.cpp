// early_check.cpp: looks for bad indices ahead of a gather into fresh memory, so that a call which fails has not moved
// most of its points before.
#include "backends/cpu/early_check.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/check_indices.h"
#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu {
namespace {

constexpr int64_t kSampledLines = 128;       // above 100, so that a hundredth of all indices in a row is always met
constexpr int64_t kSampledPoints = 1 << 17;  // fewer points move in less than thirty times the time of the samples

// Whether evenly spaced cache lines of a contiguous index array hold a bad index. All lines are prefetched first, so
// that the memory is waited for once.
template <class Index>
bool lines_have_outside(const std::byte* index, int64_t count, int64_t extent, Negative negative) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(Index));
  const int64_t step = count / kSampledLines * kSize;
  const int64_t added = added_to_negative(extent, negative);
  for (int64_t i = 0; i < kSampledLines; ++i) __builtin_prefetch(index + i * step);
  int64_t outside = 0;
  for (int64_t i = 0; i < kSampledLines; ++i) {
    for (int64_t byte = i * step; byte < i * step + kLineBytes; byte += kSize) {
      Index value;
      std::memcpy(&value, index + byte, sizeof(value));
      outside |= resolve_lane<Bounds::raise>(widen(value), extent, added).outside;
    }
  }
  return outside < 0;
}

bool sample_has_outside(const Plan& plan, const Buffers& buffers) {
  const Space& space = plan.index_space;
  const int64_t count = space.count();
  const IndexArray& index = plan.index[0];
  const int64_t size = index_size(index.type);
  if (plan.index.size() == 1 && space.rank() == 1 && space.stride(kIndex, 0) == size &&
      count / kSampledLines * size >= kLineBytes) {
    return visit_index(index.type, [&]<class Index>() {
      return lines_have_outside<Index>(buffers.index[0], count, index.extent, plan.rule.negative);
    });
  }
  for (int64_t i = 0; i < kSampledLines; ++i) {
    const int64_t first = count / kSampledLines * i;
    if (any_outside(plan, buffers, first, std::min(first + kLineBytes / size, count))) return true;
  }
  return false;
}

}  // namespace

EarlyCheck early_check(const Plan& plan, const Tuning& tuning) {
  if (plan.masked || plan.rule.bounds == Bounds::clip || plan.rule.bounds == Bounds::wrap || !plan.can_fail()) {
    return EarlyCheck::nothing;
  }
  const int64_t count = plan.index_space.count();
  if (index_bytes(plan) > tuning.l2_bytes) return count < kSampledPoints ? EarlyCheck::nothing : EarlyCheck::lines;
  const Span span = indexed_span(plan);
  const bool is_slow = plan.unit >= kEarlyUnit || (span.high - span.low) / kEarlyFar >= tuning.far_bytes;
  return is_slow ? EarlyCheck::all : EarlyCheck::nothing;
}

bool finds_outside_early(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                         const RunOptions& options) {
  switch (early_check(plan, tuning)) {
    case EarlyCheck::nothing: return false;
    case EarlyCheck::lines: return sample_has_outside(plan, buffers);
    case EarlyCheck::all: return any_outside_with(kernels, tuning, plan, buffers, {options.threads, nullptr});
  }
  return false;
}

}  // namespace gs::cpu
