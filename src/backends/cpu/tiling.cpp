// tiling.cpp: chooses the last axis of a walk, the operands that are packed, and the extents of a tile.
#include "backends/cpu/tiling.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/kernels/prefetch_distances.h"

namespace gs::cpu {
namespace {

constexpr int64_t kShortWalk = 8;   // a walk does not end with a shorter axis, unless C order does
constexpr int64_t kTileGrain = 16;  // tiles end at multiples of so many points along an axis

}  // namespace

int64_t item_of(const Plan& plan, int operand) {
  switch (operand) {
    case kDense: return plan.unit;
    case kMask: return 1;
    case kFill: return plan.item;
    case kIndexed: return plan.unit;
    default: return index_size(plan.index[operand - kIndex].type);
  }
}

namespace {

int64_t distance(const Space& space, int operand, int axis) {
  return std::abs(space.stride(operand, axis));
}

// The axis along which an operand has its shortest stride; -1 if it has none. Of equal ones the last.
int fast_axis(const Space& space, int operand) {
  int fast = -1;
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    const int64_t here = distance(space, operand, axis);
    if (here != 0 && (fast < 0 || here < distance(space, operand, fast))) fast = axis;
  }
  return fast;
}

// Whether an index, a mask or a fill value varies along an axis.
bool is_read_along(const Space& space, int axis) {
  for (int operand = kMask; operand < space.operands(); ++operand) {
    if (space.stride(operand, axis) != 0) return true;
  }
  return false;
}

// Whether the only index array selects neighbours on the indexed side, and all other axes of that side are slower.
bool indexes_fast_axis(const Plan& plan) {
  if (plan.index.size() != 1 || !plan.fold.empty()) return false;
  const int fast = fast_axis(plan.space, kIndexed);
  return fast >= 0 && std::abs(plan.index[0].step) < distance(plan.space, kIndexed, fast);
}

// Whether a walk along the fast axis of the dense side would pack nothing.
bool is_dense_walk_free(const Plan& plan) {
  const Space& space = plan.space;
  const int fast = fast_axis(space, kDense);
  if (fast < 0 || space.stride(kDense, fast) != plan.unit) return false;
  if (plan.masked && space.stride(kMask, fast) != 1) return false;
  return space.stride(kIndex, fast) == index_size(plan.index[0].type);
}

int last_axis_of_walk(const Plan& plan, const Tuning& tuning) {
  const Space& space = plan.space;
  const int by_dense = fast_axis(space, kDense);
  // Rows on the indexed side: one index selects all units of a row.
  const int row = fast_axis(space, kIndexed);
  if (row >= 0 && distance(space, kIndexed, row) == plan.unit && !is_read_along(space, row) &&
      space.extent(row) >= kShortWalk) {
    return row;
  }
  int by_index = -1;
  for (int a = 0; a < plan.index.size() && by_index < 0; ++a) by_index = fast_axis(space, kIndex + a);
  // Indices along the fast axis of the indexed side: all points of one row of it, before those of the next one.
  if (indexes_fast_axis(plan)) {
    const Span span = indexed_span(plan);
    if (span.high - span.low <= tuning.l2_bytes && is_dense_walk_free(plan)) return by_dense;
    for (const int axis : {by_dense, by_index}) {
      if (axis >= 0 && space.stride(kIndexed, axis) == 0 && space.extent(axis) >= kShortWalk) return axis;
    }
    for (int axis = space.rank() - 1; axis >= 0; --axis) {
      if (space.stride(kIndexed, axis) == 0 && space.extent(axis) >= kShortWalk) return axis;
    }
  }
  if (by_dense >= 0) return by_dense;
  return by_index >= 0 ? by_index : space.rank() - 1;
}

// Puts `last` at the end; the other axes follow the strides of an operand that is fast along it. Points of a scatter
// that share a target differ only along axes along which the indexed side has no stride: these axes keep their order.
Dims order_of_walk(const Plan& plan, int last, bool is_scatter) {
  const Space& space = plan.space;
  Dims order;
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (axis != last) order.push_back(axis);
  }
  order.push_back(last);
  if (last == space.rank() - 1) return order;
  int leader = kDense;
  for (int operand = kIndex; operand < space.operands() && fast_axis(space, leader) != last; ++operand)
    leader = operand;
  const auto is_slower = [&](int64_t a, int64_t b) {
    return distance(space, leader, static_cast<int>(a)) > distance(space, leader, static_cast<int>(b));
  };
  std::stable_sort(order.begin(), order.end() - 1, is_slower);
  if (!is_scatter) return order;
  int next = 0;
  for (int64_t& axis : order) {
    if (space.stride(kIndexed, static_cast<int>(axis)) != 0) continue;
    while (space.stride(kIndexed, next) != 0) ++next;
    axis = next++;
  }
  return order;
}

Plan reordered(const Plan& plan, const Dims& order) {
  Plan walk = plan;
  for (int to = 0; to < order.size(); ++to) {
    const int axis = static_cast<int>(order[to]);
    walk.space.set_extent(to, plan.space.extent(axis));
    for (int operand = 0; operand < plan.space.operands(); ++operand) {
      walk.space.stride(operand, to) = plan.space.stride(operand, axis);
    }
  }
  return walk;
}

// Whether the form of the plan can be a fast one if all operands are contiguous.
bool has_fast_form(const Plan& plan) {
  return plan.index.size() == 1 && plan.fold.empty() && plan.rule.bounds != Bounds::wrap;
}

// Packs the operands that the walk reads or writes an item a cache line, and those that keep the plan from a fast form.
void choose_packed(const Plan& walk, Tiling& tiling) {
  const Space& space = walk.space;
  const int last = space.rank() - 1;
  tiling.packed.resize(space.operands(), false);
  for (int operand = 0; operand < space.operands(); ++operand) {
    const int64_t stride = space.stride(operand, last);
    const int fast = fast_axis(space, operand);
    if (operand == kIndexed || operand == kFill || fast < 0 || stride == item_of(walk, operand)) continue;
    const bool wastes_lines = fast != last && std::abs(stride) >= kLineBytes;
    tiling.packed[operand] = wastes_lines || (stride != 0 && has_fast_form(walk));
    tiling.is_tiled |= tiling.packed[operand];
  }
}

// The packed bytes of a point.
int64_t packed_bytes(const Tiling& tiling) {
  int64_t bytes = 0;
  for (int operand = 0; operand < tiling.packed.size(); ++operand) {
    if (tiling.packed[operand]) bytes += item_of(tiling.plan, operand);
  }
  return bytes;
}

// Widens the tile along one axis to at most `wanted`, and to a multiple of `whole` if it does not reach the end.
void widen(Tiling& tiling, int axis, int64_t wanted, int64_t whole, int64_t most) {
  const int64_t extent = tiling.plan.space.extent(axis);
  int64_t& own = tiling.tile[axis];
  const int64_t others = tiling.points / own;
  int64_t wide = std::min({extent, wanted, most / others});
  if (wide < extent && wide > whole) wide = wide / whole * whole;
  own = std::max(own, wide);
  tiling.points = others * own;
}

// Whether points that share a target keep their order in tiles: along the axes that tell them apart, a tile is a range
// of points in C order.
bool keeps_order_of_targets(const Tiling& tiling) {
  const Space& space = tiling.plan.space;
  bool is_cut = false;
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    if (space.stride(kIndexed, axis) != 0) continue;
    if (is_cut && tiling.tile[axis] > 1) return false;
    is_cut |= tiling.tile[axis] < space.extent(axis);
  }
  return true;
}

void count_tiles(Tiling& tiling) {
  tiling.points = tiling.tiles = 1;
  for (int axis = 0; axis < tiling.tile.size(); ++axis) {
    tiling.points *= tiling.tile[axis];
    tiling.tiles *= (tiling.plan.space.extent(axis) + tiling.tile[axis] - 1) / tiling.tile[axis];
  }
}

// Chooses the extents of a tile; false if no tile uses up cache lines and keeps the order of targets.
bool choose_tile(Tiling& tiling, const Tuning& tuning, bool is_scatter) {
  const Space& space = tiling.plan.space;
  if (!tiling.is_tiled) {
    tiling.plan.finish();
    tiling.tile = tiling.plan.space.extents();
    tiling.bytes = kLineBytes;
    count_tiles(tiling);
    return true;
  }
  const int64_t each = packed_bytes(tiling);
  const auto begin = [&] {
    tiling.tile = Dims(space.rank(), 1);
    tiling.points = 1;
  };
  const auto for_fast_axes = [&](auto use) {
    for (int operand = 0; operand < space.operands(); ++operand) {
      if (!tiling.packed[operand]) continue;
      const int fast = fast_axis(space, operand);
      const int64_t items = std::max<int64_t>(kTileLineBytes / item_of(tiling.plan, operand), 1);
      if (fast != space.rank() - 1) use(fast, items);
    }
  };
  begin();
  int64_t most = std::max<int64_t>(tuning.tile_bytes / each, 1);
  for_fast_axes([&](int axis, int64_t items) { widen(tiling, axis, items, 1, most); });
  for (int axis = space.rank() - 1; axis >= 0; --axis) widen(tiling, axis, most, kTileGrain, most);
  if (is_scatter && !keeps_order_of_targets(tiling)) {
    begin();
    most = std::max<int64_t>(tuning.l2_bytes / kTilePartOfL2 / each, 1);
    for (int axis = space.rank() - 1; axis >= 0; --axis) widen(tiling, axis, most, 1, most);
    bool is_wide = keeps_order_of_targets(tiling);
    for_fast_axes(
        [&](int axis, int64_t items) { is_wide &= tiling.tile[axis] >= std::min(space.extent(axis), items / 4); });
    if (!is_wide) return false;
  }
  tiling.bytes = tiling.points * each + space.operands() * kLineBytes;
  count_tiles(tiling);
  return true;
}

bool is_c_order(const Dims& order) {
  for (int axis = 0; axis < order.size(); ++axis) {
    if (order[axis] != axis) return false;
  }
  return true;
}

}  // namespace

std::optional<Tiling> tiling_of(const Plan& plan, const Tuning& tuning, Direction direction) {
  const Space& space = plan.space;
  if (tuning.general || space.rank() == 0 || !is_element(plan.unit)) return std::nullopt;
  if (space.count() < tuning.walk_points) return std::nullopt;
  const bool is_scatter = direction == Direction::scatter;
  const Dims order = order_of_walk(plan, last_axis_of_walk(plan, tuning), is_scatter);
  Tiling tiling;
  if (is_c_order(order)) {
    choose_packed(plan, tiling);
    if (!tiling.is_tiled) return std::nullopt;
    tiling.plan = plan;
  } else {
    tiling.plan = reordered(plan, order);
    choose_packed(tiling.plan, tiling);
  }
  if (!choose_tile(tiling, tuning, is_scatter)) return std::nullopt;
  return tiling;
}

std::optional<Tiling> tiling_of_check(const Plan& reading, const Tuning& tuning, bool writes) {
  const Space& space = reading.space;
  if (tuning.general || space.rank() < 2 || space.count() < tuning.walk_points) return std::nullopt;
  const int last = fast_axis(space, kIndex);
  if (last < 0 || distance(space, kIndex, last) >= distance(space, kIndex, space.rank() - 1)) return std::nullopt;
  Tiling tiling;
  tiling.plan = reordered(reading, order_of_walk(reading, last, false));
  for (int axis = 0; axis < space.rank() && !writes; ++axis) tiling.plan.space.stride(kDense, axis) = 0;
  tiling.packed.resize(space.operands(), false);
  tiling.packed[kDense] = tiling.is_tiled = writes;
  choose_tile(tiling, tuning, false);
  return tiling;
}

}  // namespace gs::cpu
