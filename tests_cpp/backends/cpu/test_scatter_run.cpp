// test_scatter_run.cpp: reductions and the order of writes on all instruction set levels and numbers of threads,
// compared with the reference backend and with loops.
#include <atomic>
#include <cmath>
#include <cstring>

#include "backends/cpu/slot_counts.h"
#include "core/point.h"
#include "core/reductions.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"
#include "reference.h"

using namespace gs;
using namespace gs::test;

namespace {

constexpr Number kNumbers[] = {
    Number::boolean, Number::i8,      Number::i16,         Number::i32,           Number::i64,         Number::u8,
    Number::u16,     Number::u32,     Number::u64,         Number::f32,           Number::f64,         Number::c64,
    Number::c128,    Number::f16,     Number::bf16,        Number::f8_e4m3fn,     Number::f8_e4m3fnuz, Number::f8_e4m3,
    Number::f8_e3m4, Number::f8_e5m2, Number::f8_e5m2fnuz, Number::f8_e4m3b11fnuz};
constexpr Reduce kReduces[] = {Reduce::add, Reduce::mul, Reduce::min, Reduce::max, Reduce::mean};

int64_t size_of(Number number) {
  return visit_number(number, []<class T>() -> int64_t {
    if constexpr (std::is_void_v<T>) {
      return 0;
    } else {
      return sizeof(T);
    }
  });
}

struct Scatter {
  Outcome outcome;
  Bytes bytes;
};

// One value for all points.
void stand_still(Plan& plan) {
  for (int axis = 0; axis < plan.space.rank(); ++axis) plan.space.stride(kDense, axis) = 0;
  plan.finish();
}

template <class Run>
Scatter scattered(Case& test, Run run) {
  const Bytes before = test.indexed.bytes;
  Scatter result{run(), test.indexed.bytes};
  test.indexed.bytes = before;
  return result;
}

// The jobs of a scatter that moves nothing: all, those that prefetch by runs, and those that stream.
std::atomic<int> jobs = 0;
std::atomic<int> ahead_by_runs = 0;
std::atomic<int> streamed = 0;

bool count_job(const cpu::Job& job, int64_t, int64_t) {
  ++jobs;
  ahead_by_runs += job.ahead == cpu::Ahead::runs;
  streamed += job.stream;
  return true;
}

}  // namespace

TEST_CASE("slices of a scatter prefetch and stream as the whole scatter does") {
  cpu::Tuning tuning;
  tuning.min_slice_bytes = 1;
  Buffers no_memory;
  no_memory.index.resize(1, nullptr);
  const auto run = [&](const Plan& plan, int threads) {
    jobs = ahead_by_runs = streamed = 0;
    REQUIRE(cpu::move_with(baseline_with(count_job), tuning, plan, no_memory, Direction::scatter, {threads, nullptr}) ==
            Outcome::done);
  };
  // All jobs choose it where the whole target has as many bytes as the threshold, and none where it has fewer.
  const auto check = [&](const Plan& plan, int64_t& threshold, const std::atomic<int>& chosen, int threads) {
    threshold = plan.space.extent(0) * plan.space.stride(kIndexed, 0);
    run(plan, threads);
    REQUIRE((jobs > 1) == (threads > 1));
    REQUIRE(chosen == jobs);
    ++threshold;
    run(plan, threads);
    REQUIRE(chosen == 0);
  };
  for (const int threads : {1, 2, 3}) {
    check(rows_plan(64, 1024, 4096), tuning.far_element_bytes, ahead_by_runs, threads);
    check(rows_plan(64, 1024, 1024, 16), tuning.stream_bytes, streamed, threads);
  }
}

TEST_CASE("reductions give the same bytes on every level, with any number of threads, in windows of any size") {
  Random random(20261121);
  const auto setups = run_setups();
  for (const Number number : kNumbers) {
    for (const Reduce reduce : kReduces) {
      for (const bool include_self : {true, false}) {
        const Combine combine{reduce, number, include_self};
        if (!has_reduction(combine)) continue;
        for (int variant = 0; variant < 12; ++variant) {
          CaseSpec spec;
          spec.direction = Direction::scatter;
          spec.item = size_of(number);
          spec.items = variant % 3 == 0 ? random.from(2, 40) : 1;
          spec.type = static_cast<IndexType>(random.from(0, 7));
          spec.rule.bounds =
              random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked});
          spec.bad = spec.rule.bounds != Bounds::raise && spec.rule.bounds != Bounds::unchecked;
          spec.masked = random.chance(30);
          spec.plain = random.chance(60);
          spec.arrays = random.chance(80) ? 1 : 2;
          spec.anchored = random.chance(50);
          spec.extent = variant == 0 ? Dims{20000} : choose_extent(spec.item * spec.items, random);
          Case test = make_case(spec, random);
          if (random.chance(25)) stand_still(test.plan);
          if (number == Number::boolean) {
            for (std::byte& byte : test.dense.bytes) byte &= std::byte{1};
            for (std::byte& byte : test.indexed.bytes) byte &= std::byte{1};
          }
          const Scatter expected =
              scattered(test, [&] { return reference::backend().reduce(test.plan, test.buffers(), combine, {}); });
          for (const std::string& level : levels()) {
            RunSetup setup = random.pick(setups);
            if (random.chance(30)) {
              const Span span = indexed_span(test.plan);
              setup.tuning.totals_window = (span.high - span.low) / test.plan.item / random.from(1, 9) + 1;
              setup.tuning.flags_window = setup.tuning.totals_window;
            }
            if (random.chance(20)) setup.tuning.short_counts = 0;
            if (random.chance(30)) setup.tuning.round_points = random.from(100, 3000);
            INFO(level << ", " << setup.name << ", number " << static_cast<int>(number) << ", reduce "
                       << static_cast<int>(reduce) << ", include_self " << include_self << ", variant " << variant);
            const Scatter found = scattered(test, [&] {
              RunOptions options;
              options.threads = setup.threads;
              return cpu::reduce_with(*cpu::kernels_of(level), setup.tuning, test.plan, test.buffers(), combine,
                                      options);
            });
            REQUIRE(found.outcome == expected.outcome);
            if (expected.outcome == Outcome::done && found.bytes != expected.bytes) FAIL("other bytes");
          }
        }
      }
    }
  }
}

TEST_CASE("elements without the input have records where these are short, few and without gaps, and flags elsewhere") {
  const auto has_flags = [](Number number, Reduce reduce, int64_t points, int64_t extent, int64_t gap) {
    Plan plan;
    plan.item = plan.unit = size_of(number);
    plan.space = Space(Dims{points}, kIndex + 1);
    plan.space.stride(kDense, 0) = plan.item;
    plan.space.stride(kIndex, 0) = 8;
    plan.index.push_back({IndexType::i64, 0, extent, plan.item * gap});
    plan.result_shape = plan.index_shape = Dims{points};
    plan.index_space = plan.space;
    plan.finish();
    cpu::Tuning tuning;
    tuning.l2_bytes = 1 << 10;
    const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
    return cpu::pays_to_count(plan, tuning, kernels.appliers.counted({reduce, number, false}));
  };
  for (const Reduce reduce : {Reduce::add, Reduce::mul, Reduce::min, Reduce::max}) {
    INFO("reduce " << static_cast<int>(reduce));
    REQUIRE_FALSE(has_flags(Number::f32, reduce, 1000, 1024, 1));  // 8 KiB of records
    REQUIRE_FALSE(has_flags(Number::f64, reduce, 1000, 512, 1));
    REQUIRE_FALSE(has_flags(Number::i64, reduce, 1000, 512, 1));
    REQUIRE(has_flags(Number::f32, reduce, 1000, 1025, 1));  // more
    REQUIRE(has_flags(Number::f32, reduce, 100, 504, 1));    // few values
    REQUIRE(has_flags(Number::f32, reduce, 1000, 100, 2));   // gaps
    REQUIRE(has_flags(Number::i32, reduce, 1000, 100, 1));   // long records
    REQUIRE(has_flags(Number::boolean, reduce, 1000, 100, 1));
  }
  REQUIRE_FALSE(has_flags(Number::c64, Reduce::add, 1000, 100, 1));
  REQUIRE(has_flags(Number::c64, Reduce::mul, 1000, 100, 1));  // no total gives way to any factor
}

TEST_CASE("tiles of transposed values do not join items of different windows of totals") {
  // Rows of contiguous targets, values in Fortran order: a tile would join the items of a row to one unit, whose
  // records reach beyond the window. That gave wrong totals, and a damaged heap.
  constexpr int64_t kRows = 60;
  constexpr int64_t kColumns = 100;
  Random random(8);
  for (const Number number : {Number::f16, Number::f32}) {
    const int64_t item = size_of(number);
    for (const int64_t points : {int64_t{5}, int64_t{300}}) {  // few points keep sparse records
      Plan plan;
      plan.item = plan.unit = item;
      plan.space = Space(Dims{points, kColumns}, kIndex + 1);
      plan.space.stride(kDense, 0) = plan.space.stride(kIndexed, 1) = item;
      plan.space.stride(kDense, 1) = points * item;
      plan.space.stride(kIndex, 0) = 8;
      plan.index.push_back({IndexType::i64, 0, kRows, kColumns * item});
      plan.result_shape = Dims{points, kColumns};
      plan.index_shape = Dims{points};
      plan.index_space = Space(Dims{points}, kIndex + 1);
      plan.index_space.stride(kIndex, 0) = 8;
      plan.finish();
      std::vector<int64_t> index(static_cast<std::size_t>(points));
      for (int64_t& row : index) row = random.from(0, kRows - 1);
      Bytes values(static_cast<std::size_t>(points * kColumns * item), std::byte{0x33});  // 0.225 and 4.17e-8
      for (const Reduce reduce : {Reduce::add, Reduce::mean}) {
        for (const bool include_self : {true, false}) {
          const Combine combine{reduce, number, include_self};
          const auto run = [&](auto reduce_it) {
            Bytes target(static_cast<std::size_t>(kRows * kColumns * item), std::byte{0x31});
            Buffers buffers;
            buffers.dense = values.data();
            buffers.indexed = target.data();
            buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
            REQUIRE(reduce_it(buffers) == Outcome::done);
            return target;
          };
          const Bytes expected = run([&](Buffers& b) { return reference::backend().reduce(plan, b, combine, {}); });
          for (const std::string& level : levels()) {
            for (const int threads : {1, 2, 5}) {
              cpu::Tuning tuning;
              tuning.walk_points = 1;
              tuning.serial_points = tuning.serial_points_far = 1;
              tuning.min_chunk_points = 16;
              tuning.totals_window = tuning.flags_window = 1030;
              RunOptions options;
              options.threads = threads;
              INFO(level << ", " << threads << " threads, " << points << " points, reduce "
                         << static_cast<int>(reduce));
              const Bytes found = run([&](Buffers& b) {
                return cpu::reduce_with(*cpu::kernels_of(level), tuning, plan, b, combine, options);
              });
              REQUIRE((found == expected));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("the last of several points is kept, or the first one if their order is reversed") {
  Random random(5);
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      for (int round = 0; round < 30; ++round) {
        CaseSpec spec;
        spec.direction = Direction::scatter;
        spec.item = random.pick<int64_t>({1, 4, 12, 64, 100});
        spec.plain = random.chance(50);
        spec.extent = Dims{random.from(1, 40), random.from(1, 400)};
        Case test = make_case(spec, random);
        if (random.chance(25)) stand_still(test.plan);
        INFO(level << ", " << setup.name << ", item " << spec.item);
        REQUIRE(agrees(test, Direction::scatter, level, setup));

        Buffers buffers = test.buffers();
        const Plan turned = reversed(test.plan, buffers);
        const Bytes before = test.indexed.bytes;
        Buffers again = buffers;
        REQUIRE((reversed(turned, again) == test.plan));
        REQUIRE(again.dense == test.buffers().dense);
        REQUIRE(again.indexed == test.buffers().indexed);

        // The first of duplicates is kept: only targets that were not written before are written.
        Bytes expected = before;
        Bytes written(before.size(), std::byte{0});
        const Buffers forward = test.buffers();
        const PlanView view = view_of(test.plan, forward);
        for (int64_t flat = 0; flat < view.count; ++flat) {
          const PointOffsets at = locate(view, flat);
          if (at.indexed == kNowhere) continue;
          const auto place = static_cast<std::size_t>(test.indexed.origin + at.indexed);
          if (written[place] != std::byte{0}) continue;
          written[place] = std::byte{1};
          std::memcpy(&expected[place], test.dense.data() + at.dense, static_cast<std::size_t>(test.plan.unit));
        }
        RunOptions options;
        options.threads = setup.threads;
        REQUIRE(cpu::move_with(*cpu::kernels_of(level), setup.tuning, turned, buffers, Direction::scatter, options) ==
                Outcome::done);
        REQUIRE((test.indexed.bytes == expected));
        test.indexed.bytes = before;
      }
    }
  }
}
