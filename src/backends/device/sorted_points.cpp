// sorted_points.cpp: computes the slots of a plan, and sorts the points of a scatter by slot.
#include "backends/device/sorted_points.h"

#include <bit>

#include "backends/device/launch.h"

namespace gs::device {

Slots slots_of(const Plan& plan) {
  const Span span = indexed_span(plan);
  const int64_t cell = indexed_pitch(plan);
  Slots slots;
  slots.low = span.low;
  slots.cell = cell == 0 ? 1 : cell;  // 0: all strides and steps are 0, so there is one slot
  slots.count = (span.high - span.low - plan.unit) / slots.cell + 1;
  slots.by_cell = Divider(slots.cell);
  return slots;
}

SortedPoints::SortedPoints(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status)
    : table_(machine, plan, buffers),
      slots_(slots_of(plan)),
      keys_(machine, table_->count * static_cast<int64_t>(sizeof(uint64_t))),
      points_(machine, table_->count * static_cast<int64_t>(sizeof(uint64_t))) {
  const int64_t count = table_->count;
  const auto nowhere = static_cast<uint64_t>(slots_.count);
  launch(machine, MakeKeys{*table_, slots_, keys_.as<uint64_t>(), points_.as<uint64_t>(), status}, count);
  machine.sort(keys_.as<uint64_t>(), points_.as<uint64_t>(), count, static_cast<int>(std::bit_width(nowhere)));
  sorted_ = {keys_.as<uint64_t>(), points_.as<uint64_t>(), count, nowhere};
}

}  // namespace gs::device
