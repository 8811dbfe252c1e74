// row_counts.cpp: finds the slots of the rows of a reduction, and allocates and clears their counts.
#include "backends/cpu/row_counts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace gs::cpu {
namespace {

// Units begin at multiples of so many bytes from the lowest target on.
int64_t pitch_of(const Plan& plan) {
  int64_t pitch = 0;
  for (int axis = 0; axis < plan.space.rank(); ++axis) pitch = std::gcd(pitch, plan.space.stride(kIndexed, axis));
  if (plan.fold.empty()) {
    for (const IndexArray& index : plan.index) pitch = std::gcd(pitch, index.step);
  } else {
    for (const FoldAxis& fold : plan.fold) pitch = std::gcd(pitch, fold.stride);
  }
  return pitch == 0 ? plan.unit : pitch;
}

}  // namespace

bool pays_to_count_rows(const Plan& plan, const Tuning& tuning) {
  return plan.unit_items() >= kCountedItems && plan.space.count() <= tuning.short_counts;
}

RowCounts piece_of(const RowCounts& counts, int64_t byte, int64_t offset) {
  RowCounts piece = counts;
  piece.first += static_cast<Address>(byte);
  piece.seen += offset;
  if (piece.values != nullptr) piece.values += offset;
  return piece;
}

CountMemory::CountMemory(const Plan& plan, const Tuning& tuning, const Buffers& buffers, const CountedRows& rows,
                         const Combine& combine, int64_t pieces)
    : pitch_(pitch_of(plan)) {
  const Span span = indexed_span(plan);
  slots_ = (span.high - plan.unit - span.low) / pitch_ + 1;
  window_ = std::min(slots_, tuning.totals_window);
  start_ = reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(span.low);
  any_target_ = plan.rule.bounds != Bounds::unchecked;
  const int64_t each = window_ * pieces;
  const int64_t kinds = rows.count != nullptr ? 2 : 1;
  bytes_ = each * kinds * static_cast<int64_t>(sizeof(uint32_t));
  clean_ = slots_ / kSparseSlots > plan.space.count();
  memory_.emplace(bytes_, clean_);
  counts_.seen = reinterpret_cast<uint32_t*>(memory_->data());
  if (kinds == 2) counts_.values = counts_.seen + each;
  counts_.by_pitch = ExactDivision(pitch_);
  counts_.steps = rows.steps;
  counts_.include_self = combine.include_self;
}

RowCounts CountMemory::counts_from(int64_t first) {
  if (!clean_) std::memset(counts_.seen, 0, static_cast<std::size_t>(bytes_));
  clean_ = false;
  RowCounts counts = counts_;
  counts.first = start_ + static_cast<Address>(first * pitch_);
  return counts;
}

AddressRange CountMemory::range_from(int64_t first) const {
  if (window_ == slots_ && any_target_) return {};
  const Address low = start_ + static_cast<Address>(first * pitch_);
  return {low, low + static_cast<Address>(std::min(window_, slots_ - first) * pitch_)};
}

}  // namespace gs::cpu
