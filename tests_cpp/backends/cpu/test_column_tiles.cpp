// test_column_tiles.cpp: gathers by packed tiles of columns, compared with a loop over points, and the plans they are
// for.
#include "backends/cpu/column_tiles.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

Space swapped(const Space& space, int a, int b) {
  Space other = space;
  for (int axis : {a, b}) {
    const int from = a + b - axis;
    other.set_extent(axis, space.extent(from));
    for (int operand = 0; operand < space.operands(); ++operand) {
      other.stride(operand, axis) = space.stride(operand, from);
    }
  }
  return other;
}

}  // namespace

TEST_CASE("column tiles, with batches, odd widths, every unit and rule") {
  for (const std::string& level : levels()) {
    Random random(99);
    for (int round = 0; round < 400; ++round) {
      const int64_t unit = random.pick<int64_t>({1, 2, 4, 8, 16});
      const int64_t rows = random.from(2, 16);
      const int64_t columns = random.from(130, 400);
      const int64_t wanted = random.from(1, 24);
      const int64_t batches = random.pick<int64_t>({1, 1, 3});
      CaseSpec spec;
      spec.item = unit;
      spec.type = static_cast<IndexType>(random.from(0, 7));
      spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::unchecked});
      spec.rule.negative = random.chance(50) ? Negative::from_end : Negative::out_of_bounds;
      spec.bad = spec.rule.bounds != Bounds::unchecked && random.chance(spec.rule.bounds == Bounds::raise ? 20 : 100);
      spec.masked = random.chance(30);
      spec.plain = true;
      spec.anchored = true;
      spec.extent = Dims{batches, wanted, columns};
      Case test = make_case(spec, random);
      // Each case has a source array of its own: batches of matrices with all columns of a row in one piece.
      test.plan = Plan();
      Plan& plan = test.plan;
      plan.item = plan.unit = unit;
      plan.rule = spec.rule;
      plan.masked = spec.masked;
      plan.space = Space(spec.extent, kIndex + 1);
      const int64_t size = index_size(spec.type);
      const int64_t strides[][5] = {
          {wanted * columns * unit, rows * columns * unit, wanted * columns, 0, wanted * columns * size},
          {columns * unit, 0, columns, 0, columns * size},
          {unit, unit, 1, 0, size}};
      for (int axis = 0; axis < 3; ++axis) {
        for (int operand = 0; operand < 5; ++operand) plan.space.stride(operand, axis) = strides[axis][operand];
        if (!spec.masked) plan.space.stride(kMask, axis) = 0;
      }
      // Columns of the source array may be rows of the result.
      if (random.chance(30)) plan.space = swapped(plan.space, 1, 2);
      IndexArray index;
      index.type = spec.type;
      index.extent = rows;
      index.step = columns * unit;
      plan.index.push_back(index);
      test.indexed = make_array({0, batches * rows * columns * unit}, random);
      for (int64_t k = 0; k < batches * wanted * columns; ++k) {
        store(test.index[0].data() + k * size, spec.type, choose_value(spec.type, rows, spec.rule, spec.bad, random));
      }
      plan.result_shape = plan.index_shape = spec.extent;
      plan.index_space = plan.space;
      plan.finish();
      for (const int threads : {1, 3}) {
        RunSetup setup{"column tiles", {}, threads};
        setup.tuning.far_bytes = 1;
        setup.tuning.l2_bytes = 2 * rows * (random.chance(50) ? 64 : 128);
        if (random.chance(50)) setup.tuning.stream_bytes = setup.tuning.stream_late_bytes = 1;
        const int64_t width = cpu::column_tiling_of(plan, setup.tuning, Direction::gather).columns;
        if (wanted >= rows && !spec.masked && width == 0) FAIL("no tiles for a plan that is made for them");
        if (!agrees(test, Direction::gather, level, setup)) {
          FAIL("level " << level << ", unit " << unit << ", rows " << rows << ", columns " << columns << ", wanted "
                        << wanted << ", batches " << batches << ", tile width " << width << ", threads " << threads);
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("tiles are for far matrices with a row that many points use") {
  cpu::Tuning tuning;
  tuning.far_bytes = 1 << 20;
  tuning.l2_bytes = 1 << 20;
  const auto width = [&](const Plan& plan, Direction direction = Direction::gather) {
    return cpu::column_tiling_of(plan, tuning, direction).columns;
  };
  constexpr int64_t kRows = 1024;
  constexpr int64_t kColumns = 4096;
  REQUIRE(width(gather_plan(kRows, kRows, kColumns)) == cpu::kTileRowBytes / 4);
  REQUIRE(width(gather_plan(kRows, kRows, kColumns), Direction::scatter) == 0);
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
