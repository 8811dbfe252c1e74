// test_small_move.cpp: moves whose decisions are made once, compared with a loop over points, and the plans they serve.
#include "backends/cpu/small_move.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("a small move agrees with the oracle again and again, on other memory of its geometry") {
  for (const std::string& level : levels()) {
    Random random(31);
    int made = 0;
    int refused = 0;
    for (int round = 0; round < 600; ++round) {
      CaseSpec spec;
      spec.direction = random.chance(50) ? Direction::gather : Direction::scatter;
      spec.item = random.pick<int64_t>({1, 2, 3, 4, 8, 16, 24});
      spec.type = static_cast<IndexType>(random.from(0, 7));
      spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::clip, Bounds::wrap});
      spec.rule.negative = random.chance(60) ? Negative::from_end : Negative::out_of_bounds;
      spec.plain = random.chance(60);
      spec.bad = random.chance(30);
      spec.extent = random.chance(50) ? Dims{random.from(1, 40)} : Dims{random.from(1, 6), random.from(1, 9)};
      Case test = make_case(spec, random);
      cpu::Tuning tuning;
      tuning.vectors = level == "v4";
      const auto move = cpu::small_move_with(cpu::kernels(level), tuning, test.plan, spec.direction, 0);
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
        REQUIRE(move->allows(buffers.index[0]) == good);
        REQUIRE((target.bytes == before));
        REQUIRE(move->run(buffers.dense, buffers.indexed, buffers.index[0]) == good);
        if (good) REQUIRE((target.bytes == expected));
        refused += good ? 0 : 1;
        // The same geometry in other memory.
        for (Array* array : {&test.dense, &test.indexed}) {
          array->bytes.insert(array->bytes.begin(), 1, std::byte{0x5A});
          ++array->origin;
          random.fill(array->bytes);
        }
      }
    }
    REQUIRE(made > 500);
    REQUIRE(refused > 50);
  }
}

TEST_CASE("there is no small move where each call must be decided anew") {
  const cpu::Run run = cpu::kernels("baseline");
  const cpu::Tuning tuning;
  const auto has = [&](const Plan& plan, Direction direction = Direction::gather) {
    return cpu::small_move_with(run, tuning, plan, direction, 0) != nullptr;
  };
  REQUIRE(has(take_plan(16)));
  REQUIRE(has(take_plan(16), Direction::scatter));
  REQUIRE_FALSE(has(take_plan(0)));
  REQUIRE(has(take_plan(tuning.serial_points - 1)));
  REQUIRE_FALSE(has(take_plan(tuning.serial_points)));  // threads pay
  REQUIRE_FALSE(has(take_plan(16, 4, IndexType::i64, 0)));
  Plan filled = take_plan(16);
  filled.rule.bounds = Bounds::fill;
  REQUIRE_FALSE(has(filled));
  Plan masked = take_plan(16);
  masked.masked = true;
  REQUIRE_FALSE(has(masked));
  Plan copy = take_plan(16);
  copy.index.clear();
  copy.finish();
  REQUIRE_FALSE(has(copy));
}

TEST_CASE("a move of more points than one round has no small move, whatever threshold the user sets") {
  cpu::Tuning tuning;
  tuning.serial_points = tuning.serial_points_far = INT64_MAX;
  const cpu::Run run = cpu::kernels("baseline");
  REQUIRE(cpu::small_move_with(run, tuning, take_plan(tuning.round_points), Direction::gather, 0) != nullptr);
  REQUIRE(cpu::small_move_with(run, tuning, take_plan(tuning.round_points + 1), Direction::gather, 0) == nullptr);
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
    const auto move = cpu::small_move_with(cpu::kernels(level), cpu::Tuning(), plan, Direction::gather, 8);
    REQUIRE(move != nullptr);
    REQUIRE(move->allows(bytes(points)));
    REQUIRE(move->run(bytes(result), bytes(source), bytes(points)));
    REQUIRE(move->run_alone(bytes(again), bytes(source), bytes(points)));
    REQUIRE(result == std::vector<int32_t>{103, 111, 100, 106, 109});
    REQUIRE(again == result);
    for (const std::size_t at : {4U, 7U}) {  // one of each axis
      const int64_t good = std::exchange(points[at], 4);
      REQUIRE_FALSE(move->allows(bytes(points)));
      REQUIRE_FALSE(move->run(bytes(result), bytes(source), bytes(points)));
      REQUIRE_FALSE(move->run_alone(bytes(result), bytes(source), bytes(points)));
      points[at] = good;
    }
  }
}
