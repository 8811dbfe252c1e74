// choose_kernel.cpp: chooses the form of a plan's launches by its geometry, and the word size by its addresses.
#include "backends/device/choose_kernel.h"

#include "backends/device/sorted_points.h"

namespace gs::device {
namespace {

// Marks of 4 bytes are cleared and read for every slot. This is cheaper than sorting the points, unless the points are
// few compared with the slots.
constexpr int64_t kSlotsPerPoint = 32;
constexpr int64_t kFewSlots = int64_t{1} << 16;

// Returns true if the plan copies one contiguous run of bytes and nothing else.
bool is_plain(const Plan& plan) {
  return plan.space.rank() == 0 && plan.index.empty() && !plan.masked;
}

// Returns true if rows are long enough for MoveElements. With shorter rows, most threads would write a part of a word,
// or nothing.
bool fills_pieces(const Plan& plan) {
  const int last = plan.space.rank() - 1;
  return last == 0 || plan.space.extent(last) * plan.unit >= 32;
}

}  // namespace

LaunchForm launch_form(const Plan& plan, Direction direction) {
  if (is_plain(plan)) return LaunchForm::plain;
  if (direction == Direction::gather) {
    const bool small = plan.kind == PlanKind::elements || plan.kind == PlanKind::axis;
    // MoveElements pads whole units only.
    const bool pads_items = (plan.masked || plan.rule.fills()) && plan.unit != plan.item;
    return small && fills_pieces(plan) && !pads_items ? LaunchForm::elements : LaunchForm::units;
  }
  if (plan.is_one_to_one()) return LaunchForm::units;
  const int64_t slots = slots_of(plan).count;
  return slots <= kFewSlots || slots / kSlotsPerPoint <= plan.space.count() ? LaunchForm::winners : LaunchForm::sorted;
}

int common_word(const Plan& plan, const Buffers& buffers) {
  uint64_t bits = reinterpret_cast<uintptr_t>(buffers.dense) | reinterpret_cast<uintptr_t>(buffers.indexed) |
                  static_cast<uint64_t>(plan.unit) | 16;
  const auto mix = [&](int64_t stride) { bits |= static_cast<uint64_t>(stride); };
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    mix(plan.space.stride(kDense, axis));
    mix(plan.space.stride(kIndexed, axis));
  }
  if (plan.fold.empty()) {
    for (const IndexArray& index : plan.index) mix(index.step);
  } else {
    for (const FoldAxis& fold : plan.fold) mix(fold.stride);
  }
  return static_cast<int>(bits & (~bits + 1));
}

}  // namespace gs::device
