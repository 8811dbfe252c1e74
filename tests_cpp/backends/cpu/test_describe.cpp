// test_describe.cpp: explain lists the decisions by which calls run, with the thresholds in force.
#include <string>
#include <utility>

#include "backends/cpu/schedule.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

// The decision of this name, for two threads; a failure if there is none.
Decision find(const char* name, const Plan& plan, const cpu::Tuning& tuning, Direction direction = Direction::gather,
              const Combine& combine = {}, int available = 2) {
  for (const Decision& each :
       cpu::decisions_of(*cpu::kernels_of("baseline"), tuning, plan, direction, combine, available)) {
    if (std::string(each.name) == name) return each;
  }
  FAIL("no decision " << name);
  return {};
}

// The form of a gather, for two threads.
cpu::Form form_of(const Plan& plan, const cpu::Tuning& tuning) {
  cpu::Schedule schedule;
  cpu::decide(*cpu::kernels_of("baseline"), tuning, plan, Direction::gather, {}, 2, schedule);
  return schedule.form;
}

}  // namespace

TEST_CASE("the number of threads is explained by points, or by the bytes of longer units") {
  const cpu::Tuning tuning;
  const Decision near = find("threads", take_plan(tuning.serial_points), tuning);
  REQUIRE(near.chosen == "2");
  REQUIRE(std::string(near.threshold) == "serial_points");
  REQUIRE(near.amount == tuning.serial_points);
  REQUIRE(near.value == tuning.serial_points);
  REQUIRE(find("threads", take_plan(tuning.serial_points - 1), tuning).chosen == "1");
  const Decision far = find("threads", take_plan(8, 4, IndexType::i64, tuning.far_bytes), tuning);
  REQUIRE(std::string(far.threshold) == "serial_points_far");
  const Plan large_rows = take_plan(tuning.serial_row_bytes / 1024, 1024, IndexType::i64, tuning.far_bytes / 1024);
  const Decision rows = find("threads", large_rows, tuning);
  REQUIRE(rows.chosen == "2");
  REQUIRE(std::string(rows.threshold) == "serial_row_bytes");
  REQUIRE(rows.amount == tuning.serial_row_bytes);
  const Decision small = find("threads", take_plan(tuning.serial_row_bytes / 1024, 1024), tuning);
  REQUIRE(small.chosen == "1");
  REQUIRE(std::string(small.threshold) == "serial_near_bytes");
  REQUIRE(find("threads", take_plan(tuning.serial_points), tuning, Direction::gather, {}, 1).threshold == nullptr);
}

TEST_CASE("prefetches and streaming stores are explained by bytes, or by what prevents them") {
  cpu::Tuning tuning;
  tuning.vectors = true;
  const Plan take = take_plan(tuning.stream_late_bytes / 4, 4, IndexType::i64, tuning.stream_bytes / 4);
  REQUIRE(std::string(find("prefetch", take, tuning).threshold) == "far_vector_bytes");
  REQUIRE(find("prefetch", take, tuning).chosen == "yes");
  REQUIRE(find("stream", take, tuning).chosen == "yes");
  REQUIRE(find("stream", take, tuning).amount == tuning.stream_late_bytes);
  REQUIRE(std::string(find("stream", take, tuning).threshold) == "stream_bytes");
  const Plan near = take_plan(tuning.stream_late_bytes / 64, 64, IndexType::i64, 100);
  REQUIRE(find("stream", near, tuning).chosen == "yes");
  REQUIRE(std::string(find("stream", near, tuning).threshold) == "stream_late_bytes");
  REQUIRE(find("stream", take_plan(tuning.stream_bytes / 4 - 1), tuning).chosen == "no");
  REQUIRE(find("prefetch", take_plan(8), tuning).reason != nullptr);
  const Plan few = take_plan(1000, 4, IndexType::i64, tuning.far_vector_bytes);
  REQUIRE(form_of(few, tuning) == cpu::Form::short_move);
  REQUIRE(std::string(find("prefetch", few, tuning).reason) == "few points");
  REQUIRE(find("stream", take, tuning, Direction::scatter).reason != nullptr);
  const Plan rows = take_plan(100, 64, IndexType::i64, tuning.stream_bytes / 64);
  REQUIRE(find("stream", rows, tuning, Direction::scatter).chosen == "yes");
  REQUIRE(find("stream", rows, tuning).chosen == "no");
  REQUIRE(find("prefetch", rows, tuning, Direction::scatter).reason != nullptr);
  const Plan odd = take_plan(100, 100, IndexType::i64, tuning.far_target_bytes / 100 + 1);
  REQUIRE(std::string(find("prefetch", odd, tuning, Direction::scatter).threshold) == "far_target_bytes");
  REQUIRE(find("prefetch", odd, tuning, Direction::scatter).chosen == "yes");
  const Plan elements = take_plan(100, 4, IndexType::i64, tuning.far_element_bytes / 4);
  REQUIRE(std::string(find("prefetch", elements, tuning, Direction::scatter).threshold) == "far_element_bytes");
  REQUIRE(find("prefetch", elements, tuning, Direction::scatter).chosen == "yes");
  REQUIRE(find("stream", rows, tuning, Direction::scatter, {Reduce::add, Number::f32, true}).chosen == "no");
  Plan counted = odd;
  counted.item = 4;
  REQUIRE(find("prefetch", counted, tuning, Direction::scatter, {Reduce::mean, Number::f32, true}).chosen == "yes");
  REQUIRE(find("prefetch", counted, tuning, Direction::scatter, {Reduce::mean, Number::f16, true}).chosen == "no");
  // Sums in their targets fetch elements that are farther than those of copies, and rows of whole lines.
  const Combine sum{Reduce::add, Number::f32, true};
  REQUIRE(find("prefetch", counted, tuning, Direction::scatter, sum).chosen == "yes");
  REQUIRE(find("prefetch", elements, tuning, Direction::scatter, sum).chosen == "no");
  REQUIRE(std::string(find("prefetch", elements, tuning, Direction::scatter, sum).threshold) == "far_target_bytes");
  const Plan far = take_plan(100, 4, IndexType::i64, tuning.far_target_bytes / 4);
  REQUIRE(find("prefetch", far, tuning, Direction::scatter, sum).chosen == "yes");
  Plan short_rows = take_plan(100, 20, IndexType::i64, tuning.far_target_bytes / 20 + 1);
  short_rows.item = 4;
  REQUIRE(find("prefetch", short_rows, tuning, Direction::scatter, sum).reason != nullptr);
  // Flags are kept for units of any length, counts for long ones.
  for (const auto& [plan, mean] : {std::pair(elements, "no"), {counted, "yes"}}) {
    REQUIRE(find("prefetch", plan, tuning, Direction::scatter, {Reduce::add, Number::f32, false}).chosen == "yes");
    REQUIRE(find("prefetch", plan, tuning, Direction::scatter, {Reduce::mean, Number::f32, false}).chosen == mean);
    REQUIRE(find("prefetch", plan, tuning, Direction::scatter, {Reduce::add, Number::f16, false}).chosen == "no");
  }
}

TEST_CASE("how a scatter on several threads keeps points of one target in order is explained") {
  const cpu::Tuning tuning;
  const auto targets = [&](const Plan& plan, const Combine& combine = {}) {
    return find("targets", plan, tuning, Direction::scatter, combine).chosen;
  };
  REQUIRE(targets(take_plan(1 << 20, 4, IndexType::i64, 1 << 20)) == "in ranges");
  REQUIRE(targets(take_plan(1 << 14, 256, IndexType::i64, 1 << 14)) == "marked");
  Plan long_rows = take_plan(4, 1 << 20, IndexType::i64, 4);
  long_rows.item = 4;
  REQUIRE(targets(long_rows, {Reduce::add, Number::f32, true}) == "in pieces");
  REQUIRE(targets(gather_plan(64, 60, 1 << 14)) == "in slices");
  for (const Decision& each :
       cpu::decisions_of(*cpu::kernels_of("baseline"), tuning, take_plan(1 << 20), Direction::scatter, {}, 1)) {
    REQUIRE(std::string(each.name) != "targets");
  }
}

TEST_CASE("a gather by column tiles is explained by the size of the source array") {
  cpu::Tuning tuning;
  tuning.far_bytes = 1 << 20;
  const Plan plan = gather_plan(1024, 1024, 1024);
  REQUIRE(form_of(plan, tuning) == cpu::Form::column_tiles);
  const Decision tiles = find("column tiles", plan, tuning);
  REQUIRE(tiles.amount == 4 << 20);
  REQUIRE(tiles.value == 1 << 20);
  tuning.far_target_bytes = 1 << 20;  // a scatter by tiles looks at its index first
  const Combine sum{Reduce::add, Number::f32, true};
  REQUIRE(find("column tiles", plan, tuning, Direction::scatter, sum).chosen == "decided from the index");
}

TEST_CASE("every decision is that of the job, and its number is compared as it says") {
  Random random(31);
  cpu::Tuning tuning;
  tuning.far_bytes = tuning.far_vector_bytes = tuning.far_target_bytes = tuning.far_element_bytes = 64 << 10;
  tuning.stream_bytes = tuning.stream_late_bytes = 32 << 10;
  int met = 0;
  int missed = 0;
  for (int round = 0; round < 2000; ++round) {
    tuning.vectors = random.chance(50);
    const int64_t unit = random.pick<int64_t>({1, 4, 8, 16, 24, 64, 128});
    const Plan plan = take_plan(random.from(1, 20'000), unit, IndexType::i32, random.from(1, 20'000));
    const Direction direction = random.chance(50) ? Direction::gather : Direction::scatter;
    cpu::Schedule schedule;
    cpu::decide(*cpu::kernels_of("baseline"), tuning, plan, direction, {}, 2, schedule);
    const cpu::Job& job = schedule.prepared.job;
    REQUIRE(find("stream", plan, tuning, direction).chosen == (job.stream ? "yes" : "no"));
    const bool is_short = schedule.strategy == cpu::Strategy::short_move;
    const bool prefetches = job.ahead != cpu::Ahead::none && !is_short;
    REQUIRE(find("prefetch", plan, tuning, direction).chosen == (prefetches ? "yes" : "no"));
    for (const char* name : {"threads", "prefetch", "stream"}) {
      const Decision decision = find(name, plan, tuning, direction);
      REQUIRE((decision.reason == nullptr) == (decision.threshold != nullptr));
      if (decision.threshold == nullptr) continue;
      const bool positive = decision.chosen != "no" && decision.chosen != "1";
      REQUIRE(positive == (decision.amount >= decision.value));
      ++(positive ? met : missed);
    }
  }
  REQUIRE(met > 500);
  REQUIRE(missed > 500);
}

TEST_CASE("the thresholds of explain are those of the configuration") {
  const HostBackend& backend = cpu::backend();
  const auto thresholds = backend.thresholds();
  for (const Plan& plan : {take_plan(100), take_plan(1 << 20, 4, IndexType::i64, 1 << 24), take_plan(1 << 16, 64)}) {
    for (const Decision& decision : backend.decisions(plan, Direction::gather, {}, 2)) {
      if (decision.threshold == nullptr) continue;
      const auto is_it = [&](const Threshold& each) { return std::string(each.first) == decision.threshold; };
      const auto found = std::find_if(thresholds.begin(), thresholds.end(), is_it);
      REQUIRE(found != thresholds.end());
      REQUIRE(found->second == decision.value);
    }
  }
}
