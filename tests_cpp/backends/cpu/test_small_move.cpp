// test_small_move.cpp: moves whose decisions are made once, compared with a loop over points, and the plans they serve.
#include "backends/cpu/schedule.h"
#include "backends/cpu/small_move.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

SmallBuffers small_of(const Buffers& buffers) {
  return {buffers.dense, buffers.indexed, buffers.index[0], buffers.mask, buffers.fill};
}

}  // namespace

TEST_CASE("a small move agrees with the oracle again and again, on other memory of its geometry") {
  for (const std::string& level : levels()) {
    Random random(31);
    int made = 0;
    int refused = 0;
    for (int round = 0; round < 600; ++round) {
      CaseSpec spec;
      spec.direction = random.chance(50) ? Direction::gather : Direction::scatter;
      spec.item = random.pick<int64_t>({1, 2, 3, 4, 8, 16, 24});
      spec.items = random.chance(80) ? 1 : random.pick<int64_t>({2, 5, 40, 700});
      spec.type = static_cast<IndexType>(random.from(0, 7));
      spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::clip, Bounds::wrap, Bounds::fill});
      spec.masked = random.chance(40);
      spec.with_fill = spec.direction == Direction::gather && (spec.masked || spec.rule.fills()) && random.chance(60);
      spec.rule.negative = random.chance(60) ? Negative::from_end : Negative::out_of_bounds;
      spec.plain = random.chance(60);
      spec.bad = random.chance(30);
      spec.extent = random.chance(50) ? Dims{random.from(1, 40)} : Dims{random.from(1, 6), random.from(1, 9)};
      Case test = make_case(spec, random);
      cpu::Tuning tuning;
      tuning.vectors = level == "v4";
      const SmallRequest request{spec.direction, {}, 0, spec.with_fill};
      const auto move = cpu::small_move_with(*cpu::kernels_of(level), tuning, test.plan, request);
      if (test.plan.index[0].extent == 0) {
        REQUIRE(move == nullptr);
        continue;
      }
      REQUIRE(move != nullptr);
      ++made;
      for (int again = 0; again < 2; ++again) {
        Array& target = spec.direction == Direction::gather ? test.dense : test.indexed;
        const Bytes before = target.bytes;
        const Buffers buffers = test.buffers();
        const bool good = naive(test.plan, buffers, spec.direction);
        const Bytes expected = target.bytes;
        target.bytes = before;
        INFO(level << ", round " << round);
        REQUIRE(move->allows(small_of(buffers)) == good);
        REQUIRE((target.bytes == before));
        REQUIRE(move->run(small_of(buffers)) == good);
        if (good) REQUIRE((target.bytes == expected));
        target.bytes = before;
        REQUIRE(move->run_alone(small_of(buffers)) == good);
        if (good) REQUIRE((target.bytes == expected));
        refused += good ? 0 : 1;
        // The same geometry in other memory.
        for (Array* array : {&test.dense, &test.indexed, &test.fill}) {
          array->bytes.insert(array->bytes.begin(), 1, std::byte{0x5A});
          ++array->origin;
          random.fill(array->bytes);
        }
      }
    }
    REQUIRE(made > 500);
    REQUIRE(refused > 30);
  }
}

TEST_CASE("there is no small move where each call must be decided anew") {
  const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
  const cpu::Tuning tuning;
  const auto has = [&](const Plan& plan, Direction direction = Direction::gather) {
    return cpu::small_move_with(kernels, tuning, plan, {direction, {}, 0, false}) != nullptr;
  };
  REQUIRE(has(take_plan(16)));
  REQUIRE(has(take_plan(16), Direction::scatter));
  REQUIRE_FALSE(has(take_plan(0)));
  REQUIRE(has(take_plan(tuning.serial_points - 1)));
  REQUIRE_FALSE(has(take_plan(tuning.serial_points)));  // threads pay
  REQUIRE_FALSE(has(take_plan(16, 4, IndexType::i64, 0)));
  Plan filled = take_plan(16);
  filled.rule.bounds = Bounds::fill;
  filled.space.stride(kFill, 0) = 4;  // a value of its own for each point
  REQUIRE(cpu::small_move_with(kernels, tuning, filled, {Direction::gather, {}, 0, true}) == nullptr);
  Plan copy = take_plan(16);
  copy.index.clear();
  copy.finish();
  REQUIRE_FALSE(has(copy));
}

TEST_CASE("a move of more points than one round has no small move, whatever threshold the user sets") {
  cpu::Tuning tuning;
  tuning.serial_points = tuning.serial_points_far = INT64_MAX;
  const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
  REQUIRE(cpu::small_move_with(kernels, tuning, take_plan(tuning.round_points), SmallRequest{}) != nullptr);
  REQUIRE(cpu::small_move_with(kernels, tuning, take_plan(tuning.round_points + 1), SmallRequest{}) == nullptr);
}

TEST_CASE("the index arrays of a small move lie in one array, at the distance that it was made with") {
  // result[i] = source[points[i, 0], points[i, 1]] of a source of shape (3, 4)
  constexpr int64_t kRows = 3, kColumns = 4, kPoints = 5;
  Plan plan = take_plan(kPoints, 4, IndexType::i64, kRows);
  plan.space = Space(Dims{kPoints}, kIndex + 2);
  plan.space.stride(kDense, 0) = 4;
  plan.space.stride(kIndex, 0) = plan.space.stride(kIndex + 1, 0) = 16;
  plan.index.clear();
  plan.index.push_back({IndexType::i64, 0, kRows, kColumns * 4});
  plan.index.push_back({IndexType::i64, 1, kColumns, 4});
  plan.index_space = plan.space;
  plan.finish();
  std::vector<int32_t> source(kRows * kColumns);
  std::iota(source.begin(), source.end(), 100);
  std::vector<int64_t> points = {0, 3, 2, -1, -3, 0, 1, 2, 2, 1};
  std::vector<int32_t> result(kPoints), again(kPoints);
  const auto bytes = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  for (const std::string& level : levels()) {
    const auto move =
        cpu::small_move_with(*cpu::kernels_of(level), cpu::Tuning(), plan, {Direction::gather, {}, 8, false});
    REQUIRE(move != nullptr);
    const SmallBuffers first{bytes(result), bytes(source), bytes(points)};
    const SmallBuffers second{bytes(again), bytes(source), bytes(points)};
    REQUIRE(move->allows(first));
    REQUIRE(move->run(first));
    REQUIRE(move->run_alone(second));
    REQUIRE(result == std::vector<int32_t>{103, 111, 100, 106, 109});
    REQUIRE(again == result);
    for (const std::size_t at : {4U, 7U}) {  // one of each axis
      const int64_t good = std::exchange(points[at], 4);
      REQUIRE_FALSE(move->allows(first));
      REQUIRE_FALSE(move->run(first));
      REQUIRE_FALSE(move->run_alone(first));
      points[at] = good;
    }
  }
}

TEST_CASE("a small reduction has the bytes of a large one") {
  Random random(7);
  for (const std::string& level : levels()) {
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    const cpu::Tuning tuning;
    int made = 0;
    for (int round = 0; round < 300; ++round) {
      CaseSpec spec;
      spec.direction = Direction::scatter;
      spec.item = 4;
      spec.items = random.chance(70) ? 1 : 3;
      spec.type = static_cast<IndexType>(random.from(0, 7));
      spec.masked = random.chance(40);
      spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::wrap});
      spec.plain = random.chance(60);
      spec.extent = random.chance(50) ? Dims{random.from(1, 40)} : Dims{random.from(1, 6), random.from(1, 9)};
      Case test = make_case(spec, random);
      Combine combine;
      combine.reduce = static_cast<Reduce>(random.from(1, 5));
      combine.number = random.pick<Number>({Number::i32, Number::u32, Number::f32});
      combine.include_self = random.chance(60);
      const auto move = cpu::small_move_with(kernels, tuning, test.plan, {Direction::scatter, combine, 0, false});
      cpu::Schedule schedule;
      cpu::decide(kernels, tuning, test.plan, Direction::scatter, combine, 2, schedule);
      REQUIRE((move != nullptr) == !schedule.tiling.has_value());  // tiles are decided and packed in each call
      if (move == nullptr) continue;
      ++made;
      const Bytes before = test.indexed.bytes;
      const Buffers buffers = test.buffers();
      REQUIRE(cpu::reduce_with(kernels, tuning, test.plan, buffers, combine, RunOptions{}) == Outcome::done);
      const Bytes expected = test.indexed.bytes;
      for (const bool alone : {false, true}) {
        test.indexed.bytes = before;
        REQUIRE((alone ? move->run_alone(small_of(buffers)) : move->run(small_of(buffers))));
        REQUIRE((test.indexed.bytes == expected));
      }
    }
    REQUIRE(made > 150);
  }
}
