// test_point_blocks.cpp: blocks hold all points once, in C order, and plans of items address one item for each granule.
#include "catch.h"
#include "core/point_blocks.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("blocks follow each other in C order and hold every point once") {
  for (const auto& [wanted, columns] : {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {5, 64}, {64, 3}}) {
    Plan plan = gather_plan(wanted, 10, columns, 1);
    plan.space.stride(kDense, 0) = columns;  // the offset of a point on the dense side is its number
    for (int64_t most : {1, 2, 4, 5, 6, 63, 64, 1000}) {
      const PointBlocks blocks(plan, most);
      INFO(wanted << " x " << columns << " in blocks of " << most);
      REQUIRE(blocks.most_points() <= most);
      int64_t next = 0;
      std::byte origin{};
      for (int64_t number = 0; number < blocks.count(); ++number) {
        Buffers buffers;
        buffers.dense = &origin;
        buffers.index.push_back(&origin);
        const Plan part = blocks.at(number, plan, buffers);
        REQUIRE(buffers.dense - &origin == next);
        REQUIRE(part.space.count() <= most);
        next += part.space.count();
      }
      REQUIRE(next == plan.space.count());
    }
  }
}

TEST_CASE("a plan without axes is one block") {
  Plan plan = take_plan(1);
  plan.space = Space(Dims{}, kIndex + 1);
  const PointBlocks blocks(plan, 10);
  Buffers buffers;
  REQUIRE(blocks.count() == 1);
  REQUIRE(blocks.at(0, plan, buffers).space.count() == 1);
}

TEST_CASE("a plan of items has one item in place of each granule") {
  Plan plan = rows_plan(3, 4, 10, 2);  // units of 8 bytes, rows of 80
  plan.fold.push_back({10, 8});
  const Plan items = with_items_for(plan, 8, 1);
  REQUIRE(items.unit == 1);
  REQUIRE(items.item == 1);
  REQUIRE(items.space.stride(kIndexed, 0) == 10);
  REQUIRE(items.space.stride(kDense, 0) == plan.space.stride(kDense, 0));
  REQUIRE(items.index[0].step == 1);
  REQUIRE(items.fold[0].stride == 1);
  REQUIRE(with_items_for(plan, 4, 2).index[0].step == 4);
}
