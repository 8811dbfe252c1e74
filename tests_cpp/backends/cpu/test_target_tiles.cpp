// test_target_tiles.cpp: scatters and reductions by tiles of columns, compared with a loop over points, and the bytes
// that they leave to other threads.
#include <cstring>

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/run.h"
#include "backends/cpu/scatter_parts.h"
#include "backends/cpu/target_tiles.h"
#include "column_cases.h"
#include "core/reductions.h"
#include "plans_by_hand.h"
#include "points.h"

using namespace gs;
using namespace gs::test;

namespace {

// The tuning of small tiles for every unit.
RunSetup tiled(int threads, int64_t rows, Random& random) {
  RunSetup setup{"column tiles", {}, threads};
  setup.tuning.far_bytes = setup.tuning.far_target_bytes = 1;
  setup.tuning.far_tile_unit = cpu::kMaxElement;
  setup.tuning.target_tile_rows = 2;
  setup.tuning.serial_points = setup.tuning.serial_points_far = 0;
  setup.tuning.l2_bytes = 2 * rows * (random.chance(50) ? 64 : 128);
  if (random.chance(50)) setup.tuning.walk_points = 1;
  return setup;
}

}  // namespace

TEST_CASE("the last value of each target is kept by tiles, with batches, odd widths, every unit and rule") {
  for (const std::string& level : levels()) {
    Random random(1128);
    int by_tiles = 0;
    for (int round = 0; round < 300; ++round) {
      ColumnSpec spec;
      spec.unit = random.pick<int64_t>({1, 2, 4, 8, 16});
      spec.wanted = random.from(1, 24);
      spec.across = random.chance(50);
      Case test = column_case(spec, random, Direction::scatter);
      for (const int threads : {1, 3}) {
        const RunSetup setup = tiled(threads, spec.rows, random);
        const int64_t width = cpu::column_tiling_of_scatter(test.plan, setup.tuning, false).columns;
        by_tiles += width > 0;
        INFO("level " << level << ", " << spec << ", tile width " << width << ", threads " << threads);
        if (!agrees(test, Direction::scatter, level, setup)) FAIL("other bytes or another outcome");
      }
    }
    REQUIRE(by_tiles > 150);
  }
}

TEST_CASE("reductions by tiles give what a loop gives, whatever the number of threads") {
  Random random(1129);
  for (const auto& [number, unit] :
       {std::pair(Number::u8, int64_t{1}), std::pair(Number::i16, int64_t{2}), std::pair(Number::f32, int64_t{4}),
        std::pair(Number::f64, int64_t{8}), std::pair(Number::c128, int64_t{16}), std::pair(Number::f16, int64_t{2})}) {
    for (const Reduce reduce : {Reduce::add, Reduce::mul, Reduce::max, Reduce::mean}) {
      for (const bool include_self : {true, false}) {
        const Combine combine{reduce, number, include_self};
        if (!has_reduction(combine)) continue;
        for (int round = 0; round < 6; ++round) {
          ColumnSpec spec;
          spec.unit = unit;
          spec.wanted = random.from(6, 24);
          spec.across = random.chance(50);
          Case test = column_case(spec, random, Direction::scatter);
          const Bytes before = test.indexed.bytes;
          reduce_by_points(test.plan, test.buffers(), combine);
          const Bytes expected = test.indexed.bytes;
          for (const std::string& level : levels()) {
            test.indexed.bytes = before;
            const RunSetup setup = tiled(random.pick<int>({1, 3}), spec.rows, random);
            RunOptions options;
            options.threads = setup.threads;
            INFO(level << ", " << spec << ", number " << static_cast<int>(number) << ", reduce "
                       << static_cast<int>(reduce) << ", include_self " << include_self);
            REQUIRE(cpu::reduce_with(*cpu::kernels_of(level), setup.tuning, test.plan, test.buffers(), combine,
                                     options) == Outcome::done);
            if (test.indexed.bytes != expected) FAIL("other bytes");
          }
        }
      }
    }
  }
}

TEST_CASE("indices that are the same in all columns follow rows, and others do not") {
  Random random(1131);
  for (const bool same : {true, false}) {
    std::vector<int64_t> index(100 * 300);
    for (size_t k = 0; k < index.size(); ++k) index[k] = same ? static_cast<int64_t>(k / 300) : random.from(0, 99);
    const Plan plan = gather_plan(100, 100, 300);
    Buffers buffers;
    buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
    cpu::Tuning tuning;
    tuning.far_target_bytes = 1;
    const cpu::ColumnTiling tiling = cpu::column_tiling_of_scatter(plan, tuning, true);
    REQUIRE(tiling.columns > 0);
    REQUIRE(cpu::follows_rows(tiling, plan, buffers) == same);
  }
}

TEST_CASE("all tiles of all matrices are in parts, whose number is bounded") {
  const Plan plan = gather_plan(10, 100, cpu::kMostTileParts * 10 + 3);
  for (const int64_t columns : {1, 3, 1000}) {
    const cpu::ColumnTiling tiling{1, columns, {}};
    const std::vector<cpu::TaskPart> parts = cpu::tiles(plan, tiling);
    REQUIRE(static_cast<int64_t>(parts.size()) <= cpu::kMostTileParts);
    int64_t next = 0;
    for (const cpu::TaskPart& part : parts) {
      REQUIRE(part.begin == next);
      REQUIRE(part.end > part.begin);
      next = part.end;
    }
    REQUIRE(next == (plan.space.extent(1) + columns - 1) / columns);
  }
}

TEST_CASE("words that have not changed are not written, whatever others have written there meanwhile") {
  Random random(1130);
  for (const std::string& level : levels()) {
    for (const int64_t word : {1, 2, 4, 8}) {
      for (int round = 0; round < 50; ++round) {
        const int64_t rows = random.from(1, 40);
        const int64_t words = random.from(1, 40);
        const int64_t bytes = words * word;
        const int64_t step = bytes + random.from(0, 70);
        Bytes before(static_cast<size_t>(rows * bytes));
        Bytes target(static_cast<size_t>(rows * step + 1));
        random.fill(before);
        random.fill(target);
        Bytes after = before;
        Bytes expected = target;
        std::byte* const to = target.data() + round % 2;
        for (int64_t k = 0; k < rows * words; ++k) {
          if (random.chance(50)) continue;
          std::byte* const own = after.data() + k * word;
          own[random.from(0, word - 1)] ^= std::byte{4};
          std::memcpy(expected.data() + round % 2 + k / words * step + k % words * word, own,
                      static_cast<size_t>(word));
        }
        cpu::kernels_of(level)->write_changed({to, step, before.data(), after.data(), rows, bytes}, word);
        INFO(level << ", words of " << word << ", " << rows << " rows of " << words);
        REQUIRE(target == expected);
      }
    }
  }
}
