// slot_counts.cpp: finds the slots of the units of a reduction, and allocates and clears their counts or flags.
#include "backends/cpu/slot_counts.h"

#include <algorithm>

namespace gs::cpu {
namespace {

constexpr int64_t kCountedItems = 8;  // means: rows of so many items have one count each
constexpr int64_t kRecordItems = 2;   // records in place of flags must be at most so many times as long as items ..
// .. and all of them at most so many L2 caches: 0.4 to 0.9 of the time, beyond 1.1 to 1.7 (Zen 5).
constexpr int64_t kNearRecords = 8;

int64_t pitch_of(const Plan& plan) {
  const int64_t pitch = indexed_pitch(plan);
  return pitch == 0 ? plan.unit : pitch;
}

int64_t slots_of_units(const Plan& plan) {
  const Span span = indexed_span(plan);
  return (span.high - plan.unit - span.low) / pitch_of(plan) + 1;
}

int64_t slots_at_a_time(const Tuning& tuning, const CountedUnits& units, int64_t pieces) {
  return units.count != nullptr ? tuning.totals_window : std::max<int64_t>(tuning.flags_window / pieces, 1);
}

}  // namespace

bool slots_are_items(const Plan& plan) {
  return plan.unit == plan.item && pitch_of(plan) == plan.item;
}

bool pays_to_count(const Plan& plan, const Tuning& tuning, const CountedUnits& units) {
  if (units.combine == nullptr) return false;
  if (units.count != nullptr) return plan.unit_items() >= kCountedItems && plan.space.count() <= tuning.short_counts;
  if (units.record_bytes == 0 || units.record_bytes > kRecordItems * plan.item || !slots_are_items(plan)) return true;
  const Span span = indexed_span(plan);
  const int64_t slots = (span.high - span.low) / plan.item;
  return slots * units.record_bytes > kNearRecords * tuning.l2_bytes || !is_dense(plan, slots);
}

bool has_one_window(const Plan& plan, const Tuning& tuning, const CountedUnits& units, int64_t pieces) {
  return slots_of_units(plan) <= slots_at_a_time(tuning, units, pieces) && plan.rule.bounds != Bounds::unchecked;
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
  slots_ = slots_of_units(plan);
  const bool counts = units.count != nullptr;
  window_ = std::min(slots_, slots_at_a_time(tuning, units, pieces));
  start_ = reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(indexed_span(plan).low);
  any_target_ = plan.rule.bounds != Bounds::unchecked;
  const int64_t each = window_ * pieces;
  clean_ = slots_ / kSparseSlots > plan.space.count();
  memory_.emplace(counts ? 2 * each * static_cast<int64_t>(sizeof(uint32_t)) : each, clean_);
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
  if (!clean_) memory_->clear();
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
