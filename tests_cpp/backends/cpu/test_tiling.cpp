// test_tiling.cpp: the order of the walk, the packed operands and the extents of tiles, for layouts by hand.
#include "backends/cpu/tiling.h"
#include "catch.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

std::optional<cpu::Tiling> gathered(const Plan& plan) {
  return cpu::tiling_of(plan, {}, Direction::gather);
}

}  // namespace

TEST_CASE("plans whose arrays are all in C order are walked in C order") {
  REQUIRE(!gathered(take_plan(1 << 20)));
  REQUIRE(!gathered(gather_plan(1024, 1024, 1024)));
  for (const int dim : {0, 1}) REQUIRE(!gathered(along_plan(512, dim, Order::c, Order::c)));
}

TEST_CASE("arrays that are all in Fortran order are walked in that order, and nothing is packed") {
  for (const int dim : {0, 1}) {
    const auto tiling = gathered(along_plan(512, dim, Order::f, Order::f, Order::f));
    REQUIRE(tiling);
    REQUIRE(!tiling->is_tiled);
    REQUIRE(tiling->plan.space.stride(kDense, tiling->plan.space.rank() - 1) == 4);
  }
}

TEST_CASE("an index array in another order than the result is packed") {
  const auto tiling = gathered(flat_plan(512, 512, Order::c, Order::f));
  REQUIRE(tiling);
  REQUIRE(tiling->packed[kIndex]);
  REQUIRE(!tiling->packed[kDense]);
  REQUIRE(tiling->tile[0] * 8 >= cpu::kTileLineBytes);
  REQUIRE(tiling->points * 8 <= cpu::Tuning{}.tile_bytes);
  REQUIRE(tiling->tiles * tiling->points >= 512 * 512);
}

TEST_CASE("indices along the fast axis of a large source array are walked along it") {
  cpu::Tuning tuning;
  const Plan plan = along_plan(512, 0, Order::f, Order::c);
  tuning.l2_bytes = 512 * 512 * 4;
  REQUIRE(!cpu::tiling_of(plan, tuning, Direction::gather));  // it stays in the L2 cache
  --tuning.l2_bytes;
  const auto tiling = cpu::tiling_of(plan, tuning, Direction::gather);
  REQUIRE(tiling);
  REQUIRE(tiling->plan.space.stride(kIndexed, 1) == 0);
  REQUIRE(tiling->packed[kIndex]);
  REQUIRE(tiling->packed[kDense]);
}

TEST_CASE("indices that lie apart are packed where a fast form follows") {
  Plan plan = take_plan(4096);
  plan.space.stride(kIndex, 0) = 24;
  plan.finish();
  REQUIRE(gathered(plan));
  plan.rule.bounds = Bounds::wrap;
  REQUIRE(!gathered(plan));
}

TEST_CASE("few points, long units and the general path have no tiling") {
  REQUIRE(!gathered(flat_plan(16, 16, Order::c, Order::f)));
  REQUIRE(gathered(flat_plan(32, 32, Order::c, Order::f)));
  Plan rows = flat_plan(512, 512, Order::c, Order::f);
  rows.unit = 12;
  REQUIRE(!gathered(rows));
  cpu::Tuning tuning;
  tuning.general = true;
  REQUIRE(!cpu::tiling_of(flat_plan(512, 512, Order::c, Order::f), tuning, Direction::gather));
}

TEST_CASE("points of a scatter that may share a target keep their order") {
  cpu::Tuning tuning;
  const auto scattered = [&](const Plan& plan) { return cpu::tiling_of(plan, tuning, Direction::scatter); };
  // All axes may share targets: C order, and a tile is a range of whole rows.
  const auto flat = scattered(flat_plan(512, 512, Order::c, Order::f));
  REQUIRE(flat);
  REQUIRE(flat->tile[1] == 512);
  REQUIRE(flat->plan.space.stride(kDense, 1) == 4);
  const auto fortran = scattered(flat_plan(512, 512, Order::f, Order::f));
  REQUIRE(fortran);
  REQUIRE(fortran->plan.space.stride(kDense, 0) == 4);
  REQUIRE(fortran->is_tiled);
  tuning.l2_bytes = 4096;  // a row with its lines does not fit
  REQUIRE(!scattered(flat_plan(512, 512, Order::c, Order::f)));
  // Only points of one row may share a target.
  const auto along = scattered(along_plan(512, 1, Order::c, Order::f));
  REQUIRE(along);
  REQUIRE(along->packed[kIndex]);
}

TEST_CASE("a check without positions reads indices in their own order") {
  const Plan plan = flat_plan(512, 512, Order::c, Order::f);
  const auto only_checked = cpu::tiling_of_check(plan, {}, false);
  REQUIRE(only_checked);
  REQUIRE(!only_checked->is_tiled);
  REQUIRE(only_checked->plan.space.rank() == 1);
  const auto written = cpu::tiling_of_check(plan, {}, true);
  REQUIRE(written);
  REQUIRE(written->packed[kDense]);
  REQUIRE(!written->packed[kIndex]);
  REQUIRE(!cpu::tiling_of_check(flat_plan(512, 512, Order::c, Order::c), {}, true));
}
