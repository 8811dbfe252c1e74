// fuzz_planners.cpp: fuzzes the four planners: geometry is refused or planned, and each planned point is that of a
// loop.
#include <optional>
#include <stdexcept>

#include "core/checked.h"
#include "core/error.h"
#include "core/point.h"
#include "fuzz_input.h"
#include "plans/checks.h"
#include "plans/plans.h"

namespace {

using namespace gs;
using fuzz::Input;
using fuzz::require;

constexpr int64_t kMostPoints = 4096;  // of a plan whose points are compared

// Memory for an array whose extents and strides are small: every item has an address.
struct Memory {
  std::vector<std::byte> bytes;
  int64_t low = 0;  // of the lowest item, relative to the first

  Memory(const ArrayView& view, Input& input) {
    if (checked_count(view.extent) == 0) return;  // strides of any size, and no item
    int64_t high = view.item;
    for (int axis = 0; axis < view.rank(); ++axis) {
      const int64_t reach = (view.extent[axis] - 1) * view.stride[axis];
      (reach < 0 ? low : high) += reach;
    }
    bytes.resize(static_cast<std::size_t>(high - low));
    for (std::byte& byte : bytes) byte = input.raw<std::byte>();
  }
  std::byte* first() { return bytes.data() - low; }
};

Dims shape_of(Input& input, bool small) {
  Dims shape;
  const int64_t rank = input.rarely() ? input.from(0, 20) : input.from(0, 4);
  for (int axis = 0; axis < rank; ++axis) shape.push_back(small || !input.rarely(8) ? input.from(0, 5) : input.wild());
  for (int64_t& n : shape) n = n < 0 ? ~n : n;  // the bindings refuse negative extents before a planner sees them
  return shape;
}

ArrayView view_of(Input& input, int64_t item, const Dims& shape, bool small) {
  ArrayView view;
  view.item = item;
  view.extent = shape;
  for (int axis = 0; axis < shape.size(); ++axis) {
    view.stride.push_back(small || !input.rarely(8) ? item * input.from(-6, 6) : input.wild());
  }
  if (!input.coin()) return view;
  try {
    view.stride = contiguous_strides(shape, item);
  } catch (const ShapeError&) {  // more items than 64 bits can count
  }
  return view;
}

// A shape that often fits `shape`: some of its axes, some of them stretched or with another extent.
Dims near(Input& input, const Dims& shape, bool small) {
  if (input.rarely(8)) return shape_of(input, small);
  Dims made;
  for (int axis = static_cast<int>(input.rarely(4) ? input.from(0, shape.size()) : 0); axis < shape.size(); ++axis) {
    made.push_back(input.rarely(8) ? 1 : input.rarely(16) ? input.from(0, 6) : shape[axis]);
  }
  return made;
}

IndexView index_of(Input& input, const Dims& shape, bool small) {
  IndexView view;
  view.type = static_cast<IndexType>(input.from(0, 7));
  static_cast<ArrayView&>(view) = view_of(input, index_size(view.type), shape, small);
  return view;
}

enum class Which { take_axis, along_axis, at_points, elementwise };

struct Call {
  Which which;
  ArrayView input;
  std::vector<IndexView> indices;
  Dims points;  // of at_points, and the shape of elementwise
  std::optional<int64_t> axis;
  int64_t batch_dims = 0;
  Match match = Match::prefix;
  Rule rule;
  std::optional<ArrayView> mask, fill, dense;
  Fit fit = Fit::exact;

  Plan plan() const {
    Extras extras;
    if (mask) extras.mask = &*mask;
    if (fill) extras.fill = &*fill;
    if (dense) extras.dense = &*dense;
    extras.fit = fit;
    switch (which) {
      case Which::take_axis: return take_axis(input, indices[0], axis, batch_dims, rule, extras);
      case Which::along_axis: return along_axis(input, indices[0], axis, match, rule, extras);
      case Which::at_points: return at_points(input, indices, points, batch_dims, rule, extras);
      case Which::elementwise: return elementwise(input, points, extras);
    }
    return {};
  }
};

Call call_of(Input& input, bool small) {
  Call call;
  call.which = static_cast<Which>(input.from(0, 3));
  const int64_t item = input.pick({int64_t{1}, int64_t{4}, int64_t{16}, int64_t{3}, int64_t{0}, int64_t{8}});
  const Dims shape = shape_of(input, small);
  call.input = view_of(input, item, shape, small);
  if (!input.rarely(8)) call.axis = input.rarely() ? input.wild() : input.from(-shape.size(), shape.size());
  call.batch_dims = input.rarely() ? input.wild() : input.rarely(4) ? input.from(0, 3) : 0;
  call.match = input.coin() ? Match::prefix : Match::broadcast;
  call.rule = {static_cast<Bounds>(input.from(0, 4)), input.coin() ? Negative::from_end : Negative::out_of_bounds};
  const int64_t count = call.which == Which::at_points ? input.from(0, 6) : 1;
  for (int64_t i = 0; i < count; ++i) call.indices.push_back(index_of(input, near(input, shape, small), small));
  call.points = near(input, shape, small);
  const Dims extra = count > 0 ? call.indices[0].extent : call.points;
  if (input.rarely(4)) call.mask = view_of(input, 1, near(input, extra, small), small);
  if (input.rarely(4)) call.fill = view_of(input, input.rarely() ? item + 1 : item, near(input, extra, small), small);
  call.fit = input.pick({Fit::exact, Fit::broadcast, Fit::leading});
  return call;
}

int64_t offset_of(const ArrayView& view, const Dims& at) {
  int64_t offset = 0;
  for (int axis = 0; axis < view.rank(); ++axis) offset += at[axis] * view.stride[axis];
  return offset;
}

// The offset of an array that broadcasts to `shape`, for coordinates in it.
int64_t broadcast_offset(const ArrayView& view, const Dims& shape, const Dims& at) {
  Dims own;
  for (int axis = 0; axis < view.rank(); ++axis) {
    own.push_back(view.extent[axis] == 1 ? 0 : at[axis + shape.size() - view.rank()]);
  }
  return offset_of(view, own);
}

// Where the loop of the operator reads: the offset of an item of the input, or kNowhere.
struct Loop {
  const Call& call;
  const Plan& plan;
  const std::vector<const std::byte*>& index_data;

  int64_t resolved(std::size_t a, int64_t offset, int64_t extent) const {
    return resolve_any(call.indices[a].type, index_data[a] + offset, extent, call.rule);
  }

  // `in_index` are the coordinates in the index shape, `at` those in the result.
  int64_t input_offset(const Dims& at, const Dims& in_index) const {
    Dims source;
    if (call.which == Which::elementwise) return broadcast_offset(call.input, plan.result_shape, at);
    const int64_t offset =
        call.which == Which::at_points ? 0 : broadcast_offset(call.indices[0], plan.index_shape, in_index);
    if (call.which == Which::at_points) {
      const int batch = static_cast<int>(call.batch_dims);
      for (int d = 0; d < batch; ++d) source.push_back(at[d]);
      for (std::size_t a = 0; a < call.indices.size(); ++a) {
        const int64_t place = broadcast_offset(call.indices[a], plan.index_shape, in_index);
        const int64_t position = resolved(a, place, call.input.extent[source.size()]);
        if (position == kNowhere) return kNowhere;
        source.push_back(position);
      }
      for (int d = plan.index_shape.size(); d < at.size(); ++d) source.push_back(at[d]);
      return offset_of(call.input, source);
    }
    if (!call.axis) {
      const int64_t position = resolved(0, offset, checked_count(call.input.extent));
      return position == kNowhere ? kNowhere : offset_of(call.input, unravel(position, call.input.extent));
    }
    const int rank = call.input.rank();
    const int axis = normalize_axis(*call.axis, rank == 0 ? 1 : rank);
    const int64_t position = resolved(0, offset, rank == 0 ? 1 : call.input.extent[axis]);
    if (position == kNowhere) return kNowhere;
    if (rank == 0) return 0;
    const int tail = call.which == Which::along_axis ? at.size() - axis - 1 : rank - axis - 1;
    for (int d = 0; d < axis; ++d) source.push_back(at[d]);
    source.push_back(position);
    for (int d = at.size() - tail; d < at.size(); ++d) source.push_back(at[d]);
    for (int d = 0; d < rank; ++d) {
      const bool stretches = call.which == Which::along_axis && call.match == Match::broadcast && d != axis;
      if (stretches && call.input.extent[d] == 1) source[d] = 0;
    }
    return offset_of(call.input, source);
  }
};

// Whether the array lies in a block of memory that a test may take.
bool is_small(const ArrayView& view) {
  int64_t span = 0;
  for (int axis = 0; axis < view.rank(); ++axis) span += view.extent[axis] * std::abs(view.stride[axis]);
  return span <= int64_t{1} << 20;
}

// Compares every item of every point with the loop.
void compare(const Call& call, const Plan& plan, Input& input) {
  for (const IndexView& index : call.indices) {
    if (!is_small(index)) return;
  }
  if (call.mask && !is_small(*call.mask)) return;
  Buffers buffers;
  std::vector<Memory> memory;
  std::vector<const std::byte*> index_data;
  memory.reserve(call.indices.size() + 1);
  for (std::size_t a = 0; a < static_cast<std::size_t>(plan.index.size()); ++a) {
    index_data.push_back(memory.emplace_back(call.indices[a], input).first());
    buffers.index.push_back(index_data.back());
  }
  if (call.mask) buffers.mask = memory.emplace_back(*call.mask, input).first();
  const PlanView view = view_of(plan, buffers);
  const Loop loop{call, plan, index_data};
  const Dims dense_stride = call.dense ? call.dense->stride : contiguous_strides(plan.result_shape, plan.item);
  const int64_t items = plan.unit_items();
  for (int64_t flat = 0; flat < checked_count(plan.result_shape); ++flat) {
    const Dims at = unravel(flat, plan.result_shape);
    Dims in_index;
    for (int axis = 0; axis < plan.index_shape.size(); ++axis) in_index.push_back(at[plan.index_axes[axis]]);
    const PointOffsets found = locate(view, flat / items);
    const int64_t within = flat % items * plan.item;
    const bool is_masked =
        call.mask && buffers.mask[broadcast_offset(*call.mask, plan.index_shape, in_index)] == std::byte{0};
    const int64_t expected = is_masked ? kNowhere : loop.input_offset(at, in_index);
    require(expected == kNowhere ? found.indexed == kNowhere : found.indexed + within == expected,
            "a point of the plan is that of the loop");
    require(found.bad == (expected == kNowhere && !is_masked && !call.rule.fills()), "a bad point is reported");
    require(found.dense + within == offset_of({nullptr, plan.item, plan.result_shape, dense_stride}, at),
            "a point has its place in the result");
    if (!call.fill || expected != kNowhere) continue;
    require(found.fill == broadcast_offset(*call.fill, plan.index_shape, in_index), "padding has its place");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Input input(data, size);
  const bool small = !input.rarely(4);
  Call call = call_of(input, small);
  std::optional<Plan> plan;
  try {
    plan = call.plan();
    if (input.rarely(4)) {  // again, with a result of the caller
      call.dense = view_of(input, call.input.item, near(input, plan->result_shape, small), small);
      plan = call.plan();
    }
  } catch (const ShapeError&) {
    return 0;
  } catch (const DTypeError&) {
    return 0;
  } catch (const AxisError&) {
    return 0;
  }
  // The dense side of a scatter may broadcast or be larger, which the tests of scatters cover.
  const bool is_plain = !call.dense || call.dense->extent == plan->result_shape;
  const int64_t points = checked_count(plan->result_shape);
  if (!small || !is_plain || points > kMostPoints || checked_count(plan->index_shape) > kMostPoints) return 0;
  if (call.input.item > 0) compare(call, *plan, input);
  return 0;
}
