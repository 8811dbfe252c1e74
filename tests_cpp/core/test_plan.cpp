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

  Plan copy = plan_of({7}, {4}, {8}, {0}, 4);
  copy.index.clear();
  copy.finish();
  REQUIRE(copy.kind == PlanKind::copy);
}

TEST_CASE("unravel counts in C order", "[plan]") {
  REQUIRE(unravel(0, {}) == Dims{});
  REQUIRE(unravel(23, {2, 3, 4}) == Dims{1, 2, 3});
  REQUIRE(unravel(4, {2, 3, 4}) == Dims{0, 1, 0});
}
