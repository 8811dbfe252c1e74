// target_spans.cpp: samples the indices of a scatter, and finds the targets of each block on all threads.
#include "backends/cpu/target_spans.h"

#include <algorithm>

#include "backends/cpu/tuning.h"
#include "host/progress.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

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
    IndexSpan span{INT64_MAX, INT64_MIN};
    for (int64_t part = 0; part < 4; ++part) {
      const int64_t at = first + (points - piece) * part / 3;
      const IndexSpan here = find(indices + at * index_size(index.type), index.type, piece);
      span = {std::min(span.lowest, here.lowest), std::max(span.highest, here.highest)};
    }
    // Indices may be as far apart as int64 allows.
    close += static_cast<uint64_t>(span.highest) - static_cast<uint64_t>(span.lowest) <
             static_cast<uint64_t>(index.extent) / kShortSpanPart;
  }
  return close * 4 >= kSpanSamples * 3;
}

}  // namespace

TargetSpans::TargetSpans(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                         const RunOptions& options)
    : count_(plan.space.count()) {
  if (count_ < kLeastSpans * tuning.span_points || !has_spans(plan)) return;
  const FindIndexSpan find = index_span_of(run);
  if (!seem_short(find, plan, buffers.index[0], tuning.span_points)) return;
  block_ = std::max(tuning.span_points, (count_ + kMostSpans - 1) / kMostSpans);
  spans_.resize(static_cast<std::size_t>((count_ + block_ - 1) / block_));

  const auto find_block = [&](int64_t block) {
    const IndexArray& index = plan.index[0];
    const int64_t first = block * block_;
    const int64_t n = std::min(block_, count_ - first);
    const IndexSpan found = find(buffers.index[0] + first * index_size(index.type), index.type, n);
    // What a rule makes of other indices may lie anywhere.
    if (found.lowest < 0 || found.highest >= index.extent) return AddressRange{};
    const auto base = reinterpret_cast<Address>(buffers.indexed);
    const auto step = static_cast<Address>(index.step);
    return AddressRange{base + static_cast<Address>(found.lowest) * step,
                        base + static_cast<Address>(found.highest) * step + 1};
  };
  struct Work {
    AddressRange* spans;
    const decltype(find_block)* find;
  } work{spans_.data(), &find_block};
  const auto run_block = [](void* context, int64_t block) {
    const Work& shared = *static_cast<const Work*>(context);
    shared.spans[block] = (*shared.find)(block);
    return true;
  };
  const host::ProgressParts parts(kSpanShare);
  host::InterruptPoller poller(options.interrupted);
  interrupted_ = !host::run_task(options.threads, {static_cast<int64_t>(spans_.size()), run_block, &work, &poller});
}

// A block outside of all bounds counts as one with targets of one range.
bool TargetSpans::divide(const std::vector<Address>& bounds) const {
  std::size_t parts = 0;
  for (const AddressRange& span : spans_) {
    const auto first = std::upper_bound(bounds.begin(), bounds.end(), span.low);
    parts += static_cast<std::size_t>(std::lower_bound(first, bounds.end(), span.high) - first) + 1;
  }
  return parts * 2 <= spans_.size() * 3;
}

}  // namespace gs::cpu
