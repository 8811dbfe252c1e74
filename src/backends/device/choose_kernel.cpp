// choose_kernel.cpp: see choose_kernel.h.
#include "backends/device/choose_kernel.h"

#include "backends/device/sorted_points.h"

namespace gs::device {
namespace {

// Marks of 4 bytes for every slot are cleared and read: cheaper than sorting the points unless those are few.
constexpr int64_t kSlotsPerPoint = 32;
constexpr int64_t kFewSlots = int64_t{1} << 16;

// Nothing but one run of bytes.
bool is_plain(const Plan& plan) {
  return plan.space.rank() == 0 && plan.index.empty() && !plan.masked;
}

// Rows shorter than that leave most threads of a piece idle.
bool fills_pieces(const Plan& plan) {
  const int last = plan.space.rank() - 1;
  return last == 0 || plan.space.extent(last) * plan.unit >= 32;
}

}  // namespace

LaunchForm launch_form(const Plan& plan, Direction direction) {
  if (is_plain(plan)) return LaunchForm::plain;
  if (direction == Direction::gather) {
    const bool small = plan.kind == PlanKind::elements || plan.kind == PlanKind::axis;
    const bool pads_items = (plan.masked || plan.rule.fills()) && plan.unit != plan.item;  // elements pad whole units
    return small && fills_pieces(plan) && !pads_items ? LaunchForm::elements : LaunchForm::units;
  }
  if (plan.is_one_to_one()) return LaunchForm::units;
  const int64_t slots = slots_of(plan).count;
  return slots <= kFewSlots || slots / kSlotsPerPoint <= plan.space.count() ? LaunchForm::winners : LaunchForm::sorted;
}

// Every address of both sides is a multiple of so many bytes, 16 at most.
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
