// test_plan.cpp: the canonical form of a plan.
#include "catch.h"
#include "core/plan.h"

using namespace gs;

namespace {

Space space_of(const Dims& extent, std::initializer_list<Dims> strides) {
  Space space(extent, static_cast<int>(strides.size()));
  int operand = 0;
  for (const Dims& stride : strides) {
    for (int axis = 0; axis < extent.size(); ++axis) space.stride(operand, axis) = stride[axis];
    ++operand;
  }
  return space;
}

Plan plan_of(const Dims& extent, const Dims& dense, const Dims& indexed, const Dims& index, int64_t item) {
  Plan plan;
  const Dims none(extent.size());
  plan.space = space_of(extent, {dense, indexed, none, none, index});
  plan.item = plan.unit = item;
  plan.index.push_back({IndexType::i64, 0, 10, item});
  plan.result_shape = extent;
  return plan;
}

}  // namespace

TEST_CASE("axes that every operand walks as one are merged", "[plan]") {
  Space space = space_of({2, 3, 4}, {{48, 16, 4}, {0, 0, 0}});
  space.coalesce();
  REQUIRE(space.extents() == Dims{24});
  REQUIRE(space.stride(0, 0) == 4);

  Space kept = space_of({2, 3, 4}, {{48, 16, 4}, {12, 0, 1}});
  kept.coalesce();
  REQUIRE(kept.extents() == Dims{2, 3, 4});

  Space partly = space_of({2, 3, 4}, {{48, 16, 4}, {12, 4, 1}, {0, 0, 1}});
  partly.coalesce();
  REQUIRE(partly.extents() == Dims{6, 4});
  REQUIRE(partly.stride(0, 0) == 16);
  REQUIRE(partly.stride(1, 1) == 1);
}

TEST_CASE("axes of one element vanish, an empty axis leaves nothing to walk", "[plan]") {
  Space ones = space_of({1, 5, 1}, {{999, 8, 999}});
  ones.coalesce();
  REQUIRE(ones.extents() == Dims{5});

  Space scalar = space_of({1, 1}, {{3, 4}});
  scalar.coalesce();
  REQUIRE(scalar.rank() == 0);
  REQUIRE(scalar.count() == 1);

  Space empty = space_of({INT64_MAX, 0, INT64_MAX}, {{0, 0, 0}});
  empty.coalesce();
  REQUIRE(empty.count() == 0);
}

TEST_CASE("a merge whose span does not fit in 64 bits is not made", "[plan]") {
  Space space = space_of({2, 4}, {{0, INT64_MAX / 2}});
  space.coalesce();
  REQUIRE(space.extents() == Dims{2, 4});
}

TEST_CASE("a contiguous axis without index joins the unit", "[plan]") {
  Plan rows = plan_of({5, 25}, {100, 4}, {0, 4}, {8, 0}, 4);
  rows.finish();
  REQUIRE(rows.unit == 100);
  REQUIRE(rows.space.extents() == Dims{5});
  REQUIRE(rows.kind == PlanKind::rows);

  Plan pairs = plan_of({5, 2}, {8, 4}, {0, 4}, {8, 0}, 4);
  pairs.finish();
  REQUIRE(pairs.unit == 8);
  REQUIRE(pairs.kind == PlanKind::elements);

  Plan apart = plan_of({5, 2}, {8, 4}, {0, 12}, {8, 0}, 4);
  apart.finish();
  REQUIRE(apart.unit == 4);
  REQUIRE(apart.kind == PlanKind::strided);
}

TEST_CASE("an axis along which the mask or the fill value varies never joins the unit", "[plan]") {
  for (const int row : {kMask, kFill}) {
    Plan plan = plan_of({5, 4}, {16, 4}, {0, 4}, {8, 0}, 4);
    plan.space.stride(row, 1) = 1;
    plan.finish();
    REQUIRE(plan.unit == 4);
  }
}

TEST_CASE("the kind names the innermost loop", "[plan]") {
  Plan elements = plan_of({7}, {4}, {0}, {8}, 4);
  elements.finish();
  REQUIRE(elements.kind == PlanKind::elements);

  Plan last_axis = plan_of({3, 7}, {28, 4}, {400, 0}, {56, 8}, 4);
  last_axis.finish();
  REQUIRE(last_axis.kind == PlanKind::elements);

  Plan axis = plan_of({3, 7}, {28, 4}, {0, 4}, {56, 8}, 4);
  axis.finish();
  REQUIRE(axis.kind == PlanKind::axis);

  Plan narrow = plan_of({7}, {3}, {0}, {8}, 3);
  narrow.finish();
  REQUIRE(narrow.kind == PlanKind::rows);

  Plan scattered_output = plan_of({7}, {8}, {0}, {8}, 4);
  scattered_output.finish();
  REQUIRE(scattered_output.kind == PlanKind::strided);

  Plan strided_index = plan_of({7}, {4}, {0}, {16}, 4);
  strided_index.finish();
  REQUIRE(strided_index.kind == PlanKind::strided);

  Plan several = plan_of({7}, {4}, {0}, {8}, 4);
  several.index.push_back({IndexType::i32, 1, 4, 4});
  several.finish();
  REQUIRE(several.kind == PlanKind::strided);

  for (const int64_t stride : {0, 1, 2}) {
    Plan masked = plan_of({7}, {4}, {0}, {8}, 4);
    masked.masked = true;
    masked.space.stride(kMask, 0) = stride;
    masked.finish();
    REQUIRE(masked.kind == (stride == 1 ? PlanKind::elements : PlanKind::strided));
  }

  Plan copy = plan_of({7}, {4}, {8}, {0}, 4);
  copy.index.clear();
  copy.finish();
  REQUIRE(copy.kind == PlanKind::copy);
}

TEST_CASE("the index space is merged as the space is", "[plan]") {
  Plan plan = plan_of({2, 3}, {12, 4}, {0, 0}, {24, 8}, 4);
  plan.index_space = plan.space;
  plan.finish();
  REQUIRE(plan.space.extents() == Dims{6});
  REQUIRE(plan.index_space.extents() == Dims{6});
  REQUIRE(plan.index_space.stride(kIndex, 0) == 8);
}

TEST_CASE("a plan can fail if its rule forbids a value that an index can have", "[plan]") {
  const auto can_fail = [](IndexType type, int64_t extent, Rule rule) {
    Plan plan = plan_of({7}, {4}, {0}, {8}, 4);
    plan.rule = rule;
    plan.index[0].type = type;
    plan.index[0].extent = extent;
    return plan.can_fail();
  };
  REQUIRE(can_fail(IndexType::i64, 10, {Bounds::raise, Negative::from_end}));
  REQUIRE(can_fail(IndexType::i64, 10, {Bounds::deferred, Negative::from_end}));
  REQUIRE(can_fail(IndexType::u8, 255, {Bounds::raise, Negative::from_end}));
  REQUIRE_FALSE(can_fail(IndexType::u8, 256, {Bounds::raise, Negative::from_end}));
  for (const Bounds bounds : {Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked}) {
    REQUIRE_FALSE(can_fail(IndexType::i64, 10, {bounds, Negative::from_end}));
  }
  REQUIRE(can_fail(IndexType::i64, 0, {Bounds::clip, Negative::from_end}));
  Plan copy = plan_of({7}, {4}, {8}, {0}, 4);
  copy.index.clear();
  REQUIRE_FALSE(copy.can_fail());
}

TEST_CASE("unravel counts in C order", "[plan]") {
  REQUIRE(unravel(0, {}) == Dims{});
  REQUIRE(unravel(23, {2, 3, 4}) == Dims{1, 2, 3});
  REQUIRE(unravel(4, {2, 3, 4}) == Dims{0, 1, 0});
}

TEST_CASE("a plan counts its bytes, and the items of a unit", "[plan]") {
  Plan rows = plan_of({5, 25}, {100, 4}, {0, 4}, {8, 0}, 4);
  rows.finish();
  REQUIRE(rows.bytes_moved() == 500);
  REQUIRE(rows.unit_items() == 25);
  rows.item = rows.unit = 0;  // items without bytes, such as empty strings
  REQUIRE(rows.unit_items() == 1);
}

TEST_CASE("a plan is one to one without an index and without an axis that repeats", "[plan]") {
  Plan copy = plan_of({3, 7}, {28, 4}, {4, 12}, {0, 0}, 4);
  REQUIRE_FALSE(copy.is_one_to_one());
  copy.index.clear();
  REQUIRE(copy.is_one_to_one());
  Plan repeats = plan_of({3, 7}, {28, 4}, {4, 0}, {0, 0}, 4);
  repeats.index.clear();
  REQUIRE_FALSE(repeats.is_one_to_one());
}

TEST_CASE("a part and the opposite order address the same points", "[plan]") {
  Plan plan = plan_of({3, 7}, {56, 8}, {400, 0}, {56, 8}, 4);
  plan.masked = true;
  plan.space.stride(kMask, 0) = 7;
  plan.space.stride(kMask, 1) = 1;
  plan.space.stride(kFill, 0) = 4;
  std::byte memory[5][2000];
  Buffers buffers;
  buffers.dense = memory[kDense];
  buffers.indexed = memory[kIndexed];
  buffers.mask = memory[kMask];
  buffers.fill = memory[kFill];
  buffers.index.push_back(memory[kIndex]);
  const auto address = [](const Plan& of, const Buffers& at, int operand, const Dims& c) {
    const std::byte* begin[] = {at.dense, at.indexed, at.mask, at.fill, at.index[0]};
    return begin[operand] + c[0] * of.space.stride(operand, 0) + c[1] * of.space.stride(operand, 1);
  };
  Buffers of_part = buffers;
  Buffers of_turned = buffers;
  const Plan part = sliced(plan, of_part, 1, 2, 6);
  const Plan turned = reversed(plan, of_turned);
  REQUIRE(part.space.extents() == Dims{3, 4});
  REQUIRE(turned.space.extents() == plan.space.extents());
  for (int operand = kDense; operand <= kIndex; ++operand) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 7; ++j) {
        const std::byte* const place = address(plan, buffers, operand, {i, j});
        REQUIRE(address(turned, of_turned, operand, {2 - i, 6 - j}) == place);
        if (j >= 2 && j < 6) REQUIRE(address(part, of_part, operand, {i, j - 2}) == place);
      }
    }
  }
  Buffers alone;  // operands that a plan does not have stay null
  alone.index.push_back(memory[kIndex]);
  sliced(plan, alone, 0, 1, 2);
  REQUIRE(alone.mask == nullptr);
  REQUIRE(alone.fill == nullptr);
}

TEST_CASE("a part and the opposite order leave all but the addresses as they are", "[plan]") {
  // As many index arrays, and as many strides, as are stored inline: one more would be in the field behind them.
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{2, 3}, kIndex + 4);
  for (int operand = 0; operand < kIndex + 4; ++operand) {
    plan.space.stride(operand, 0) = 24;
    plan.space.stride(operand, 1) = 8;
  }
  for (int a = 0; a < 4; ++a) plan.index.push_back({IndexType::i64, a, 10, 4});
  std::byte memory[200];
  Buffers buffers;
  buffers.dense = buffers.indexed = memory;
  for (int a = 0; a < 4; ++a) buffers.index.push_back(memory);
  buffers.base = memory;
  Buffers of_part = buffers;
  Buffers of_turned = buffers;
  sliced(plan, of_part, 0, 1, 2);
  reversed(plan, of_turned);
  REQUIRE(of_part.index[3] == memory + 24);
  REQUIRE(of_turned.index[3] == memory + 24 + 16);
  REQUIRE(of_part.base == memory);
  REQUIRE(of_turned.base == memory);

  Plan deep = plan_of({2, 2, 2, 2, 2, 2, 2, 2}, Dims(8, 4), Dims(8, 8), Dims(8, 16), 4);
  Buffers one;
  one.dense = one.indexed = memory;
  one.index.push_back(memory);
  const Plan turned = reversed(deep, one);
  REQUIRE(turned.item == 4);
  REQUIRE(turned.space.stride(kIndex, 7) == -16);
}

TEST_CASE("the span covers every item of the indexed side", "[plan]") {
  Plan plan = plan_of({3, 7}, {28, 4}, {-40, 4}, {0, 8}, 4);
  plan.index[0] = {IndexType::i64, 0, 10, 100};
  const Span span = indexed_span(plan);
  REQUIRE(span.low == -80);
  REQUIRE(span.high == 6 * 4 + 9 * 100 + 4);
}

TEST_CASE("units begin at multiples of the pitch of the indexed side", "[plan]") {
  Plan plan = plan_of({3, 7}, {28, 4}, {-40, 16}, {0, 8}, 4);
  plan.index[0] = {IndexType::i64, 0, 10, 100};
  REQUIRE(indexed_pitch(plan) == 4);
  plan.index[0].step = -80;
  REQUIRE(indexed_pitch(plan) == 8);
  plan.fold = {FoldAxis{5, 12}, FoldAxis{2, -240}};  // in place of the step
  REQUIRE(indexed_pitch(plan) == 4);
  plan.fold[0].stride = 48;
  REQUIRE(indexed_pitch(plan) == 8);

  Plan one_place = plan_of({3, 7}, {28, 4}, {0, 0}, {0, 8}, 4);
  REQUIRE(indexed_pitch(one_place) == 4);
  one_place.index[0].step = 0;
  REQUIRE(indexed_pitch(one_place) == 0);
}

TEST_CASE("a position of the result names the position of its index", "[plan]") {
  Plan plan;
  plan.result_shape = {2, 3, 4};
  plan.index_shape = {2, 4};
  plan.index_axes = {0, 2};
  for (int64_t flat = 0; flat < 24; ++flat) {
    const Dims at = unravel(flat, plan.result_shape);
    REQUIRE(index_position(plan, flat) == at[0] * 4 + at[2]);
  }
}
