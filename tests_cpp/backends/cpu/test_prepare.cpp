// test_prepare.cpp: how a plan is divided among threads, and which operands and stores its job uses.
#include "backends/cpu/prepare.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

cpu::Nowhere nowhere_of(const Plan& plan, const std::byte* fill, Direction direction) {
  Buffers buffers;
  buffers.index.resize(plan.index.size(), nullptr);
  buffers.fill = fill;
  cpu::Prepared prepared;
  cpu::prepare(plan, buffers, direction, {}, prepared);
  return prepared.job.nowhere;
}

bool streams(const Plan& plan, const cpu::Tuning& tuning, Direction direction) {
  Buffers buffers;
  buffers.index.resize(plan.index.size(), nullptr);
  cpu::Prepared prepared;
  cpu::prepare(plan, buffers, direction, tuning, prepared);
  return prepared.job.stream;
}

}  // namespace

TEST_CASE("the work chunks of a cut cover every byte of every point") {
  Random random(23);
  int in_pieces = 0;
  for (int round = 0; round < 5000; ++round) {
    const int64_t unit = random.pick<int64_t>({0, 1, 2, 4, 8, 16, 12, 100, 4096, 300'000, 9 << 20});
    const int64_t points = random.from(0, random.pick<int64_t>({3, 100, 20'000, 3'000'000}));
    const int threads = static_cast<int>(random.from(1, 8));
    const Plan plan = take_plan(points, unit);
    const cpu::Cut cut = cpu::cut(plan, {}, threads);
    INFO(points << " points of " << unit << " bytes, " << threads << " threads");
    REQUIRE(cut.threads >= 1);
    REQUIRE(cut.threads <= threads);
    REQUIRE(cut.threads <= std::max<int64_t>(cut.chunks, 1));
    REQUIRE(cut.points >= 1);
    const int64_t ranges = (points + cut.points - 1) / cut.points;
    REQUIRE(cut.chunks == ranges * cut.pieces);
    if (cut.pieces == 1) continue;
    ++in_pieces;
    REQUIRE(cut.points == 1);
    REQUIRE(cut.piece % 64 == 0);
    REQUIRE(cut.pieces * cut.piece >= unit);
    REQUIRE((cut.pieces - 1) * cut.piece < unit);
  }
  REQUIRE(in_pieces > 100);
}

TEST_CASE("work chunks are counted in 31 bits, however many points there are") {
  for (const int64_t points : {int64_t{1} << 33, int64_t{1} << 50, int64_t{1} << 60}) {
    const cpu::Cut cut = cpu::cut(take_plan(points, 1, IndexType::u8), {}, 2);
    REQUIRE(cut.chunks <= int64_t{1} << 31);
    REQUIRE(cut.chunks * cut.points >= points);
  }
}

TEST_CASE("a second thread takes part from the thresholds on") {
  const cpu::Tuning tuning;
  const auto threads = [&](int64_t points, int64_t unit, int64_t extent) {
    return cpu::cut(take_plan(points, unit, IndexType::i64, extent), tuning, 2).threads;
  };
  REQUIRE(threads(tuning.serial_points - 1, 4, 100) == 1);
  REQUIRE(threads(tuning.serial_points, 4, 100) == 2);
  const int64_t far = tuning.far_bytes / 16;  // the smallest source array that is far
  REQUIRE(threads(tuning.serial_points_far, 16, far - 1) == 1);
  REQUIRE(threads(tuning.serial_points_far - 1, 16, far) == 1);
  REQUIRE(threads(tuning.serial_points_far, 16, far) == 2);
  for (const int64_t unit : {1, 2, 4, 8}) {  // also where these points are fewer bytes than a work chunk of near units
    const int64_t apart = tuning.far_bytes / unit;
    REQUIRE(threads(tuning.serial_points_far, unit, apart) == 2);
  }
  const int64_t row = 1024;  // longer units: bytes decide
  const int64_t rows = tuning.far_bytes / row;
  REQUIRE(threads(tuning.serial_row_bytes / row - 1, row, rows) == 1);
  REQUIRE(threads(tuning.serial_row_bytes / row, row, rows) == 2);
  REQUIRE(threads(tuning.serial_near_bytes / row - 1, row, 10) == 1);
  REQUIRE(threads(tuning.serial_near_bytes / row, row, 10) == 2);
}

TEST_CASE("the indexed side is far from far_bytes on") {
  cpu::Tuning tuning;
  tuning.far_bytes = 4000;
  REQUIRE_FALSE(cpu::is_far(take_plan(10, 4, IndexType::i64, 999), tuning));
  REQUIRE(cpu::is_far(take_plan(10, 4, IndexType::i64, 1000), tuning));
}

TEST_CASE("what a point that is nowhere does follows from mask, rule, fill value and direction") {
  const std::byte value[16] = {};
  Plan plan = take_plan(64);
  REQUIRE(nowhere_of(plan, nullptr, Direction::gather) == cpu::Nowhere::never);
  REQUIRE(nowhere_of(plan, nullptr, Direction::scatter) == cpu::Nowhere::never);
  plan.rule.bounds = Bounds::fill;
  REQUIRE(nowhere_of(plan, nullptr, Direction::gather) == cpu::Nowhere::read_one);
  REQUIRE(nowhere_of(plan, value, Direction::gather) == cpu::Nowhere::read_one);
  REQUIRE(nowhere_of(plan, value, Direction::scatter) == cpu::Nowhere::skip);
  plan.space.stride(kFill, 0) = 4;
  REQUIRE(nowhere_of(plan, value, Direction::gather) == cpu::Nowhere::read_own);
  plan.space.stride(kFill, 0) = 0;
  plan.unit = 2 * cpu::kFillRowBytes;  // too long for a repeated fill value
  REQUIRE(nowhere_of(plan, value, Direction::gather) == cpu::Nowhere::write);
  REQUIRE(nowhere_of(plan, nullptr, Direction::gather) == cpu::Nowhere::write);
  Plan masked = take_plan(64);
  masked.masked = true;
  REQUIRE(nowhere_of(masked, nullptr, Direction::gather) == cpu::Nowhere::read_one);
  REQUIRE(nowhere_of(masked, nullptr, Direction::scatter) == cpu::Nowhere::skip);
}

TEST_CASE("a fill value shorter than the unit is repeated once for all points") {
  const int32_t value = 0x01020304;
  Plan plan = take_plan(8, 12);
  plan.item = 4;
  plan.rule.bounds = Bounds::fill;
  Buffers buffers;
  buffers.index.push_back(nullptr);
  buffers.fill = reinterpret_cast<const std::byte*>(&value);
  cpu::Prepared prepared;
  cpu::prepare(plan, buffers, Direction::gather, {}, prepared);
  REQUIRE(prepared.job.nowhere == cpu::Nowhere::read_one);
  for (int i = 0; i < 3; ++i) REQUIRE(std::memcmp(prepared.job.fill + 4 * i, &value, 4) == 0);
}

TEST_CASE("results from stream_bytes on get streaming stores, where whole cache lines are written") {
  cpu::Tuning tuning;
  tuning.stream_bytes = 64 * 128;
  REQUIRE(streams(take_plan(64 * 32), tuning, Direction::gather));
  REQUIRE_FALSE(streams(take_plan(64 * 32 - 1), tuning, Direction::gather));
  const int64_t many = tuning.stream_bytes / 4;  // units of a large source array
  tuning.stream_late_bytes = 2 * tuning.stream_bytes;
  REQUIRE(streams(take_plan(many, 4, IndexType::i64, many), tuning, Direction::gather));
  REQUIRE(streams(take_plan(many, 24, IndexType::i64, many), tuning, Direction::gather));
  REQUIRE_FALSE(streams(take_plan(many / 6, 24, IndexType::i64, 10), tuning, Direction::gather));
  REQUIRE(streams(take_plan(many, 24, IndexType::i64, 10), tuning, Direction::gather));
  REQUIRE(streams(gather_plan(32, many / 64, 64), tuning, Direction::gather));           // another axis than the last
  REQUIRE_FALSE(streams(take_plan(64 * 32), tuning, Direction::scatter));                // targets of 4 bytes
  REQUIRE(streams(take_plan(10, 64, IndexType::i64, 128), tuning, Direction::scatter));  // the target decides
  REQUIRE_FALSE(streams(take_plan(1000, 64, IndexType::i64, 127), tuning, Direction::scatter));
  tuning.general = true;
  REQUIRE_FALSE(streams(take_plan(64 * 32), tuning, Direction::gather));
}

TEST_CASE(
    "a scatter of elements prefetches the targets of the next run if a row fits into L2, else those of its points") {
  const auto ahead = [](Plan plan, cpu::Tuning tuning = {}) {
    tuning.far_element_bytes = 1 << 20;
    Buffers buffers;
    buffers.index.resize(plan.index.size(), nullptr);
    cpu::Prepared prepared;
    cpu::prepare(plan, buffers, Direction::scatter, tuning, prepared);
    return prepared.job.ahead;
  };
  REQUIRE(ahead(rows_plan(1024, 256, 1024)) == cpu::Ahead::runs);
  REQUIRE(ahead(rows_plan(64, 256, 1024)) == cpu::Ahead::none);         // near
  REQUIRE(ahead(rows_plan(1024, 16, 1024)) == cpu::Ahead::units);       // few points touch few lines of a row
  REQUIRE(ahead(rows_plan(4, 1 << 18, 1 << 20)) == cpu::Ahead::units);  // longer than L2
  REQUIRE(ahead(take_plan(1 << 20, 4, IndexType::i64, 1 << 20)) == cpu::Ahead::units);
}

TEST_CASE("the tiles of a scatter prefetch their targets as the whole scatter does") {
  cpu::Tuning tuning;
  const Plan whole = take_plan(4096, 4, IndexType::i64, tuning.far_element_bytes / 4);
  const Plan tile = take_plan(4096, 4, IndexType::i64, tuning.far_element_bytes / 64);
  const auto ahead = [&](const Plan& plan, const cpu::Tuning& own) {
    Buffers no_memory;
    no_memory.index.resize(1, nullptr);
    cpu::Prepared prepared;
    cpu::prepare(plan, no_memory, Direction::scatter, own, prepared);
    return prepared.job.ahead;
  };
  REQUIRE(ahead(whole, tuning) == cpu::Ahead::units);
  REQUIRE(ahead(tile, tuning) == cpu::Ahead::none);
  REQUIRE(ahead(tile, cpu::tuning_of_parts(whole, tuning)) == cpu::Ahead::units);
  REQUIRE(ahead(tile, cpu::tuning_of_parts(tile, tuning)) == cpu::Ahead::none);
}
