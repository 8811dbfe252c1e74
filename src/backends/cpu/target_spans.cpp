// target_spans.cpp: samples the indices of a scatter, and finds the targets of each block on all threads.
#include "backends/cpu/target_spans.h"

#include <algorithm>

#include "backends/cpu/tuning.h"
#include "host/progress.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

// Blocks that are looked at; in three quarters targets must seem to lie together ..
constexpr int64_t kSpanSamples = 32;
constexpr uint64_t kShortSpanPart = 16;  // .. within such a part of the indexed axis ..
constexpr int64_t kSampledPiece = 16;    // .. by four pieces of so many points
constexpr int64_t kSpanShare = 8;        // the search takes about such a part of the scatter

// Whether one contiguous index array gives the targets alone. Where a mask leaves most points out, their indices are
// not read, and a search would take longer than the scatter: a mask of 4 Mi points that is all false takes 0.67 ms
// without it, and 1.31 with it (Zen 5).
bool has_spans(const Plan& plan) {
  if (plan.masked || plan.space.rank() != 1 || plan.index.size() != 1 || !plan.fold.empty()) return false;
  const IndexArray& index = plan.index[0];
  return plan.space.stride(kIndexed, 0) == 0 && plan.space.stride(kIndex, 0) == index_size(index.type) &&
         index.extent > 0 && index.step > 0;
}

// Whether the targets of most of some blocks lie close together, as four pieces of each block say.
bool seem_short(FindIndexSpan find, const Plan& plan, const std::byte* indices, int64_t points) {
  const IndexArray& index = plan.index[0];
  const int64_t piece = std::min(kSampledPiece, points);
  int close = 0;
  for (int64_t sample = 0; sample < kSpanSamples; ++sample) {
    const int64_t first = (plan.space.count() - points) / (kSpanSamples - 1) * sample;
    IndexSpan span;
    for (int64_t part = 0; part < 4; ++part) {
      const int64_t at = first + (points - piece) * part / 3;
      span.add(find(indices + at * index_size(index.type), index.type, piece));
    }
    // Indices may be as far apart as int64 allows.
    close += static_cast<uint64_t>(span.highest) - static_cast<uint64_t>(span.lowest) <
             static_cast<uint64_t>(index.extent) / kShortSpanPart;
  }
  return close * 4 >= kSpanSamples * 3;
}

}  // namespace

int64_t span_points_for(const Tuning& tuning, int64_t count) {
  if (count <= kMostSpans * tuning.span_points) return tuning.span_points;
  return (count / kMostSpans / kScanGrain + 1) * kScanGrain;
}

int64_t paying_span_points(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers) {
  const int64_t count = plan.space.count();
  if (count < kLeastSpans * tuning.span_points || !has_spans(plan)) return 0;
  if (!seem_short(kernels.index_span, plan, buffers.index[0], tuning.span_points)) return 0;
  return span_points_for(tuning, count);
}

BlockSpans empty_spans(const std::byte* index, int64_t count, int64_t points) {
  return {index, count, points, std::vector<IndexSpan>(static_cast<std::size_t>((count + points - 1) / points))};
}

IndexSpan position_span(FindIndexSpan find, const IndexArray& index, Rule rule, const std::byte* indices, int64_t n) {
  const IndexSpan span = find(indices, index.type, n);
  if ((span.lowest < 0) != (span.highest < 0)) return kAnywhere;
  const Rule ends{Bounds::fill, rule.negative};
  const IndexSpan positions{resolve(span.lowest, index.extent, ends), resolve(span.highest, index.extent, ends)};
  return positions.lowest == kNowhere || positions.highest == kNowhere ? kAnywhere : positions;
}

TargetSpans::TargetSpans(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                         const RunOptions& options)
    : base_(reinterpret_cast<Address>(buffers.indexed)) {
  if (!has_spans(plan)) return;
  const int64_t count = plan.space.count();
  step_ = static_cast<Address>(plan.index[0].step);
  // A run may move a part of the points only, or move them in another order.
  if (buffers.spans != nullptr && buffers.spans->index == buffers.index[0] && buffers.spans->count == count) {
    found_ = buffers.spans;
    return;
  }
  const int64_t points = paying_span_points(kernels, tuning, plan, buffers);
  if (points == 0) return;
  own_ = empty_spans(buffers.index[0], count, points);

  struct Work {
    BlockSpans* spans;
    const Plan* plan;
    FindIndexSpan find;
  } work{&own_, &plan, kernels.index_span};
  const auto find_block = [](void* context, int64_t block) {
    const Work& shared = *static_cast<const Work*>(context);
    const IndexArray& index = shared.plan->index[0];
    BlockSpans& spans = *shared.spans;
    const int64_t first = block * spans.points;
    const int64_t n = std::min(spans.points, spans.count - first);
    spans.of_block[static_cast<std::size_t>(block)] =
        position_span(shared.find, index, shared.plan->rule, spans.index + first * index_size(index.type), n);
    return true;
  };
  const host::ProgressParts parts(kSpanShare);
  host::InterruptPoller poller(options.interrupted);
  interrupted_ = !host::run_task(options.threads, {blocks(), find_block, &work, &poller});
}

// A block outside of all bounds counts as one with targets of one range.
bool TargetSpans::divide(const std::vector<Address>& bounds) const {
  std::size_t parts = 0;
  for (const IndexSpan& span : spans().of_block) {
    const AddressRange targets = targets_of(span);
    const auto first = std::upper_bound(bounds.begin(), bounds.end(), targets.low);
    parts += static_cast<std::size_t>(std::lower_bound(first, bounds.end(), targets.high) - first) + 1;
  }
  return parts * 2 <= spans().of_block.size() * 3;
}

}  // namespace gs::cpu
