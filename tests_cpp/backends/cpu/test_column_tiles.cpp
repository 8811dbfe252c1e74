// test_column_tiles.cpp: gathers by packed tiles of columns, compared with a loop over points, and the plans they are
// for.
#include "backends/cpu/column_tiles.h"
#include "column_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("column tiles, with batches, odd widths, every unit and rule") {
  for (const std::string& level : levels()) {
    Random random(99);
    for (int round = 0; round < 400; ++round) {
      ColumnSpec spec;
      spec.unit = random.pick<int64_t>({1, 2, 4, 8, 16});
      spec.wanted = random.from(1, 24);
      spec.across = random.chance(30);
      Case test = column_case(spec, random);
      for (const int threads : {1, 3}) {
        RunSetup setup{"column tiles", {}, threads};
        setup.tuning.far_bytes = 1;
        setup.tuning.l2_bytes = 2 * spec.rows * (random.chance(50) ? 64 : 128);
        if (random.chance(50)) setup.tuning.stream_bytes = setup.tuning.stream_late_bytes = 1;
        const int64_t width = cpu::column_tiling_of(test.plan, setup.tuning).columns;
        if (spec.wanted >= spec.rows && !test.plan.masked && width == 0)
          FAIL("no tiles for a plan that is made for them");
        INFO("level " << level << ", " << spec << ", tile width " << width << ", threads " << threads);
        if (!agrees(test, Direction::gather, level, setup)) FAIL("other bytes or another outcome");
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("tiles are for far matrices with a row that many points use") {
  cpu::Tuning tuning;
  tuning.far_bytes = 1 << 20;
  tuning.l2_bytes = 1 << 20;
  const auto width = [&](const Plan& plan) { return cpu::column_tiling_of(plan, tuning).columns; };
  constexpr int64_t kRows = 1024;
  constexpr int64_t kColumns = 4096;
  REQUIRE(width(gather_plan(kRows, kRows, kColumns)) == cpu::kTileRowBytes / 4);
  REQUIRE(width(gather_plan(kRows / cpu::kTileRowsPerUse, kRows, kColumns)) > 0);
  REQUIRE(width(gather_plan(kRows / cpu::kTileRowsPerUse - 1, kRows, kColumns)) == 0);    // too few uses of a row
  REQUIRE(width(gather_plan(kRows, kRows, 63)) == 0);                                     // not far
  REQUIRE(width(take_plan(kRows * kColumns, 4, IndexType::i64, kRows * kColumns)) == 0);  // no second axis
  // A tile must fit into half of the L2 cache: rows of 64 bytes where 128 are too long, and none where these are too.
  REQUIRE(width(gather_plan(8192, 8192, kColumns)) == 64 / 4);
  REQUIRE(width(gather_plan(8193, 8193, kColumns)) == 0);
  tuning.general = true;
  REQUIRE(width(gather_plan(kRows, kRows, kColumns)) == 0);
}

TEST_CASE("near matrices have tiles if columns that lie in few sets are read across") {
  const cpu::Tuning tuning;
  const auto tiles = [&](const Plan& plan) { return cpu::column_tiling_of(plan, tuning).columns > 0; };
  const auto square = [](int64_t side, Order source, Order index) { return along_plan(side, 1, source, index, index); };
  REQUIRE(tiles(square(512, Order::f, Order::c)));          // 2 KiB apart
  REQUIRE(tiles(square(256, Order::f, Order::c)));          // 1 KiB
  REQUIRE(!tiles(square(500, Order::f, Order::c)));         // 2,000 bytes
  REQUIRE(!tiles(square(128, Order::f, Order::c)));         // 512 bytes
  REQUIRE(!tiles(square(512, Order::c, Order::c)));         // an item of each row of the source after the other
  REQUIRE(!tiles(square(512, Order::f, Order::f)));         // column by column
  REQUIRE(!tiles(along_plan(512, 0, Order::c, Order::c)));  // along the rows of the result
  Plan few = square(512, Order::f, Order::c);
  few.index[0].extent = cpu::kCrowdingColumns - 1;
  REQUIRE(!tiles(few));
}

TEST_CASE("tiles of scatters are for far or crowded targets") {
  cpu::Tuning tuning;
  tuning.far_target_bytes = 1 << 20;
  const auto width = [&](const Plan& plan, bool reduces) {
    return cpu::column_tiling_of_scatter(plan, tuning, reduces).columns;
  };
  const Plan far = gather_plan(1000, 1000, 1000);  // 4,000 bytes apart
  REQUIRE(width(far, true) == cpu::kTileRowBytes / 4);
  REQUIRE(width(far, false) == 0);
  REQUIRE(width(gather_plan(1000, 1000, 1000, 2), false) == cpu::kTileRowBytes / 2);
  REQUIRE(width(gather_plan(1000, 1000, 1024), false) > 0);  // a page apart
  REQUIRE(width(gather_plan(1000, 1000, 1024, 8), false) == 0);
  REQUIRE(width(gather_plan(499, 1000, 1000), true) == 0);  // too few points of a column
  REQUIRE(width(gather_plan(100, 100, 1000), true) == 0);   // not far
  const Plan crowded = along_plan(512, 1, Order::f, Order::c);
  REQUIRE(width(gather_plan(1000, 63, 100'000), true) == 0);  // few rows
  Plan masked = far;
  masked.masked = true;
  REQUIRE(width(masked, true) == 0);
  tuning.far_target_bytes = INT64_MAX;
  REQUIRE(width(crowded, false) > 0);
  REQUIRE(width(crowded, true) > 0);
  Plan backwards = crowded;  // as duplicates="first" walks it
  for (int axis = 0; axis < 2; ++axis) backwards.space.stride(kIndexed, axis) *= -1;
  REQUIRE(width(backwards, false) > 0);
  REQUIRE(width(along_plan(512, 1, Order::f, Order::f, Order::f), true) == 0);
  REQUIRE(width(along_plan(500, 1, Order::f, Order::c), true) == 0);
  tuning.general = true;
  REQUIRE(width(crowded, true) == 0);
}
