// slot_counts.cpp: finds the slots of the units of a reduction, and allocates and clears their counts or flags.
#include "backends/cpu/slot_counts.h"

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

bool pays_to_count(const Plan& plan, const Tuning& tuning, const CountedUnits& units) {
  if (units.combine == nullptr) return false;
  return units.count == nullptr || (plan.unit_items() >= kCountedItems && plan.space.count() <= tuning.short_counts);
}

bool slots_are_items(const Plan& plan) {
  return plan.unit == plan.item && pitch_of(plan) == plan.item;
}

SlotCounts piece_of(const SlotCounts& counts, int64_t byte, int64_t offset) {
  SlotCounts piece = counts;
  piece.first += static_cast<Address>(byte);
  if (piece.begun != nullptr) {
    piece.begun += offset;
  } else {
    piece.seen += offset;
    piece.values += offset;
  }
  return piece;
}

CountMemory::CountMemory(const Plan& plan, const Tuning& tuning, const Buffers& buffers, const CountedUnits& units,
                         const Combine& combine, int64_t pieces)
    : pitch_(pitch_of(plan)) {
  const Span span = indexed_span(plan);
  slots_ = (span.high - plan.unit - span.low) / pitch_ + 1;
  window_ = std::min(slots_, tuning.totals_window);
  start_ = reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(span.low);
  any_target_ = plan.rule.bounds != Bounds::unchecked;
  const int64_t each = window_ * pieces;
  const bool counts = units.count != nullptr;
  bytes_ = counts ? 2 * each * static_cast<int64_t>(sizeof(uint32_t)) : each;
  clean_ = slots_ / kSparseSlots > plan.space.count();
  memory_.emplace(bytes_, clean_);
  if (counts) {
    counts_.seen = reinterpret_cast<uint32_t*>(memory_->data());
    counts_.values = counts_.seen + each;
  } else {
    counts_.begun = reinterpret_cast<uint8_t*>(memory_->data());
  }
  counts_.by_pitch = ExactDivision(pitch_);
  counts_.steps = units.steps;
  counts_.include_self = combine.include_self;
}

SlotCounts CountMemory::counts_from(int64_t first) {
  if (!clean_) std::memset(memory_->data(), 0, static_cast<std::size_t>(bytes_));
  clean_ = false;
  SlotCounts counts = counts_;
  counts.first = start_ + static_cast<Address>(first * pitch_);
  return counts;
}

AddressRange CountMemory::range_from(int64_t first) const {
  if (window_ == slots_ && any_target_) return {};
  const Address low = start_ + static_cast<Address>(first * pitch_);
  return {low, low + static_cast<Address>(std::min(window_, slots_ - first) * pitch_)};
}

}  // namespace gs::cpu
