// test_schedule.cpp: how a call runs: one decision for calls, small calls and explain.
#include "backends/cpu/schedule.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;
using cpu::Form;
using cpu::Strategy;

namespace {

Form form_of(const Plan& plan, const cpu::Tuning& tuning, Direction direction = Direction::gather) {
  cpu::Schedule schedule;
  cpu::decide(*cpu::kernels_of("baseline"), tuning, plan, direction, {}, 2, schedule);
  return schedule.form;
}

bool is_short_scatter(const Plan& plan, const cpu::Tuning& tuning) {
  return form_of(plan, tuning, Direction::scatter) == Form::short_move;
}

Form form_of(const Plan& plan, bool vectors = false) {
  cpu::Tuning tuning;
  tuning.vectors = vectors;
  return form_of(plan, tuning);
}

}  // namespace

TEST_CASE("few units under the default rule are a short move, in both directions") {
  const cpu::Tuning tuning;
  REQUIRE(form_of(take_plan(16)) == Form::short_move);
  REQUIRE(form_of(take_plan(16, 4, IndexType::i32)) == Form::short_move);
  REQUIRE(form_of(take_plan(16), true) == Form::short_move);
  REQUIRE(form_of(take_plan(16, 4, IndexType::u8)) == Form::elements);
  Plan clipped = take_plan(16);
  clipped.rule.bounds = Bounds::clip;
  REQUIRE(form_of(clipped) == Form::elements);
  REQUIRE(is_short_scatter(take_plan(16), tuning));
  REQUIRE(is_short_scatter(take_plan(16, 8, IndexType::i32), tuning));
  REQUIRE_FALSE(is_short_scatter(take_plan(16, 4, IndexType::u8), tuning));
  REQUIRE_FALSE(is_short_scatter(take_plan(16, 12), tuning));
  REQUIRE_FALSE(is_short_scatter(clipped, tuning));
  REQUIRE_FALSE(is_short_scatter(gather_plan(4, 4, 4), tuning));
  REQUIRE_FALSE(is_short_scatter(take_plan(tuning.serial_points), tuning));
  const int64_t far = tuning.far_element_bytes / 4;
  REQUIRE(is_short_scatter(take_plan(1000, 4, IndexType::i64, far - 1), tuning));
  REQUIRE_FALSE(is_short_scatter(take_plan(1000, 4, IndexType::i64, far), tuning));
}

TEST_CASE("a call that threads share is no short move") {
  const cpu::Tuning tuning;
  REQUIRE(form_of(take_plan(tuning.serial_points - 1)) == Form::short_move);
  REQUIRE(form_of(take_plan(tuning.serial_points)) == Form::elements);
  REQUIRE(form_of(take_plan(tuning.serial_points), true) == Form::vectors);
}

TEST_CASE("a long call is no short move, whatever threshold the user sets") {
  cpu::Tuning tuning;
  tuning.serial_points = tuning.serial_points_far = INT64_MAX;
  REQUIRE(form_of(take_plan(16), tuning) == Form::short_move);
  REQUIRE(form_of(take_plan(1 << 20), tuning) == Form::elements);
}

TEST_CASE("the points of a scatter are divided by its threads and the layout of its targets") {
  cpu::Tuning tuning;
  tuning.serial_points = tuning.serial_points_far = 0;
  tuning.min_slice_bytes = 1;
  const auto expect = [&](const Plan& plan, int threads, Strategy strategy, const Combine& combine = {}) {
    cpu::Schedule schedule;
    cpu::decide(*cpu::kernels_of("baseline"), tuning, plan, Direction::scatter, combine, threads, schedule);
    REQUIRE(schedule.strategy == strategy);
    REQUIRE(schedule.threads == threads);
    REQUIRE(schedule.parts.empty() == (strategy != Strategy::parts));
    if (strategy == Strategy::ranges) {
      REQUIRE((schedule.filter == cpu::Filter::read_all) == (threads <= cpu::kReadAllThreads));
    }
  };
  const Plan flat = take_plan(1 << 20);
  expect(flat, 1, Strategy::rounds);
  expect(flat, 2, Strategy::ranges);
  expect(flat, 8, Strategy::ranges);
  expect(rows_plan(64, 1024, 4096), 2, Strategy::parts);
  expect(flat, 2, Strategy::ranges, {Reduce::mean, Number::f32, true});
}

TEST_CASE("explain names the form of a plan for every level") {
  for (const std::string& level : levels()) {  // a level that this processor lacks cannot say which reductions it has
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    cpu::Tuning tuning;
    tuning.vectors = level == "v4";
    const auto name = [&](const Plan& plan, Direction direction, const Combine& combine = {}) {
      return cpu::kernel_name(kernels, tuning, plan, direction, combine, 2);
    };
    const std::string prefix = level + " ";
    REQUIRE(name(take_plan(16), Direction::gather) == prefix + "short");
    REQUIRE(name(take_plan(1 << 20), Direction::gather) == prefix + (tuning.vectors ? "vectors" : "elements"));
    REQUIRE(name(take_plan(16), Direction::scatter) == prefix + "short");
    REQUIRE(name(take_plan(16), Direction::scatter, {Reduce::add, Number::f32, true}) == prefix + "elements");
    REQUIRE(name(take_plan(1 << 20), Direction::scatter) == prefix + "elements");
    REQUIRE(name(take_plan(1 << 20), Direction::scatter, {Reduce::add, Number::f32, true}) == prefix + "elements");
    REQUIRE(name(take_plan(1 << 20), Direction::scatter, {Reduce::mean, Number::f32, true}) == prefix + "elements");
    REQUIRE(name(take_plan(1 << 20), Direction::scatter, {Reduce::add, Number::f32, false}) == prefix + "elements");
    Plan between = take_plan(1 << 20);  // targets begin at every second byte
    between.index[0].step = 6;
    between.finish();
    REQUIRE(name(between, Direction::scatter, {Reduce::add, Number::f32, false}) == prefix + "blocks");
  }
}

TEST_CASE("a reduction that an elements kernel cannot count runs in blocks") {
  cpu::Tuning tuning;
  tuning.short_counts = 0;
  const Combine mean{Reduce::mean, Number::f32, true};
  const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
  REQUIRE(cpu::kernel_name(kernels, tuning, take_plan(1 << 20), Direction::scatter, mean, 2) == "baseline blocks");
}

TEST_CASE("a mask with a fill value of its own for each point has no special form, with or without memory") {
  Plan plan = take_plan(64);
  plan.masked = true;
  plan.space.stride(kMask, 0) = 1;
  plan.space.stride(kFill, 0) = 4;
  plan.index_space = plan.space;
  plan.finish();
  cpu::Tuning tuning;
  tuning.vectors = true;
  cpu::Prepared with_memory;
  alignas(64) static std::byte memory[512] = {};
  Buffers buffers;
  buffers.dense = buffers.indexed = memory;
  buffers.mask = buffers.fill = memory;
  buffers.index.push_back(memory);
  cpu::prepare(plan, buffers, Direction::gather, tuning, with_memory);
  REQUIRE(with_memory.job.form == Form::blocks);
  REQUIRE(form_of(plan, tuning) == Form::blocks);
}
