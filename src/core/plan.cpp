// plan.cpp: brings a plan into its canonical form and determines its kind.
#include "core/plan.h"

#include <algorithm>
#include <numeric>

namespace gs {
namespace {

// Whether every operand walks the axes `outer` and `outer` + 1 as one axis.
bool mergeable(const Space& space, int outer) {
  for (int operand = 0; operand < space.operands(); ++operand) {
    int64_t span = 0;
    if (__builtin_mul_overflow(space.stride(operand, outer + 1), space.extent(outer + 1), &span)) return false;
    if (space.stride(operand, outer) != span) return false;
  }
  return true;
}

// Whether the last axis can become part of the unit: no index, mask or fill value varies along it, and both sides are
// contiguous along it.
bool joins_unit(const Plan& plan) {
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  if (last < 0 || space.extent(last) == 0) return false;
  for (int operand = kMask; operand < space.operands(); ++operand) {
    if (space.stride(operand, last) != 0) return false;
  }
  return space.stride(kDense, last) == plan.unit && space.stride(kIndexed, last) == plan.unit;
}

PlanKind classify(const Plan& plan) {
  if (plan.index.empty()) return PlanKind::copy;
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  if (last < 0 || plan.index.size() > 1 || !plan.fold.empty()) return PlanKind::strided;
  if (space.stride(kDense, last) != plan.unit) return PlanKind::strided;
  if (!is_element(plan.unit)) return PlanKind::rows;
  if (space.stride(kIndex, last) != index_size(plan.index[0].type)) return PlanKind::strided;
  if (plan.masked && space.stride(kMask, last) != 1) return PlanKind::strided;
  if (space.stride(kIndexed, last) == 0) return PlanKind::elements;
  return space.stride(kIndexed, last) == plan.unit ? PlanKind::axis : PlanKind::strided;
}

}  // namespace

bool is_element(int64_t unit) {
  return unit == 1 || unit == 2 || unit == 4 || unit == 8 || unit == 16;
}

void Space::coalesce() {
  if (std::find(extent_.begin(), extent_.end(), 0) != extent_.end()) {
    *this = Space(Dims{0}, operands_);  // no points; the product of the other extents may overflow
    return;
  }
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (extent(axis) == 1) remove(axis);
  }
  for (int outer = rank() - 2; outer >= 0; --outer) {
    if (!mergeable(*this, outer)) continue;
    extent_[outer + 1] *= extent_[outer];  // planners have checked that the product of all extents fits
    remove(outer);
  }
}

const char* kind_name(PlanKind kind) {
  switch (kind) {
    case PlanKind::copy: return "copy";
    case PlanKind::elements: return "elements";
    case PlanKind::axis: return "axis";
    case PlanKind::rows: return "rows";
    case PlanKind::strided: return "strided";
  }
  return "";
}

void Plan::finish() {
  space.coalesce();
  while (joins_unit(*this)) {
    unit *= space.extent(space.rank() - 1);
    space.remove(space.rank() - 1);
  }
  index_space.coalesce();
  kind = classify(*this);
}

bool Plan::is_one_to_one() const {
  if (!index.empty()) return false;
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (space.stride(kIndexed, axis) == 0) return false;  // the extent is not 1: such axes were removed
  }
  return true;
}

Span indexed_span(const Plan& plan) {
  Span span{0, plan.unit};
  // Planners have checked that the span of every operand fits in 64 bits.
  const auto grow = [&](int64_t extent, int64_t stride) {
    if (extent > 1) (stride < 0 ? span.low : span.high) += (extent - 1) * stride;
  };
  for (int axis = 0; axis < plan.space.rank(); ++axis) grow(plan.space.extent(axis), plan.space.stride(kIndexed, axis));
  if (plan.fold.empty()) {
    for (const IndexArray& index : plan.index) grow(index.extent, index.step);
  } else {
    for (const FoldAxis& fold : plan.fold) grow(fold.extent, fold.stride);
  }
  return span;
}

int64_t indexed_pitch(const Plan& plan) {
  int64_t pitch = 0;
  for (int axis = 0; axis < plan.space.rank(); ++axis) pitch = std::gcd(pitch, plan.space.stride(kIndexed, axis));
  if (plan.fold.empty()) {
    for (const IndexArray& index : plan.index) pitch = std::gcd(pitch, index.step);
  } else {
    for (const FoldAxis& fold : plan.fold) pitch = std::gcd(pitch, fold.stride);
  }
  return pitch;
}

namespace {

// Advances the address of every operand by offset(operand) bytes.
template <class Offset>
void shift(const Plan& plan, Buffers& buffers, Offset offset) {
  buffers.dense += offset(kDense);
  buffers.indexed += offset(kIndexed);
  if (buffers.mask != nullptr) buffers.mask += offset(kMask);
  if (buffers.fill != nullptr) buffers.fill += offset(kFill);
  for (int a = 0; a < plan.index.size(); ++a) buffers.index[a] += offset(kIndex + a);
}

}  // namespace

Plan sliced(const Plan& plan, Buffers& buffers, int axis, int64_t begin, int64_t end) {
  Plan part = plan;
  part.space.set_extent(axis, end - begin);
  shift(plan, buffers, [&](int operand) { return begin * plan.space.stride(operand, axis); });
  return part;
}

Plan with_items_for(const Plan& plan, int64_t granule, int64_t item) {
  Plan items = plan;
  const auto scale = [&](int64_t& distance) { distance = distance / granule * item; };
  for (int axis = 0; axis < plan.space.rank(); ++axis) scale(items.space.stride(kIndexed, axis));
  for (IndexArray& index : items.index) scale(index.step);
  for (FoldAxis& fold : items.fold) scale(fold.stride);
  items.item = items.unit = item;
  return items;
}

Plan reversed(const Plan& plan) {
  Plan turned = plan;
  for (int operand = 0; operand < plan.space.operands(); ++operand) {
    for (int axis = 0; axis < plan.space.rank(); ++axis) {
      turned.space.stride(operand, axis) = -plan.space.stride(operand, axis);
    }
  }
  turned.kind = classify(turned);
  return turned;
}

Plan reversed(const Plan& plan, Buffers& buffers) {
  if (plan.space.count() == 0) return plan;
  const Space& space = plan.space;
  shift(plan, buffers, [&](int operand) {
    int64_t offset = 0;
    for (int axis = 0; axis < space.rank(); ++axis) offset += (space.extent(axis) - 1) * space.stride(operand, axis);
    return offset;
  });
  return reversed(plan);
}

Dims unravel(int64_t flat, const Dims& shape) {
  Dims position(shape.size());
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position;
}

int64_t index_position(const Plan& plan, int64_t flat) {
  const Dims at = unravel(flat, plan.result_shape);
  int64_t position = 0;
  for (int axis = 0; axis < plan.index_axes.size(); ++axis) {
    position = position * plan.index_shape[axis] + at[plan.index_axes[axis]];
  }
  return position;
}

}  // namespace gs
