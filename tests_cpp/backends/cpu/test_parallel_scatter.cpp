// test_parallel_scatter.cpp: reductions and the order of writes on all instruction set levels and numbers of threads,
// compared with the reference backend and with loops.
#include <cmath>
#include <cstring>

#include "core/point.h"
#include "core/reductions.h"
#include "cpu_cases.h"
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

bool same(const BadIndex& a, const BadIndex& b) {
  return a.flat == b.flat && a.count == b.count && a.size == b.size && a.axis == b.axis && a.type == b.type &&
         a.bits == b.bits;
}

}  // namespace

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
          spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap});
          spec.bad = spec.rule.bounds != Bounds::raise;
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
            }
            if (random.chance(20)) setup.tuning.short_counts = 0;
            if (random.chance(30)) setup.tuning.round_points = random.from(100, 3000);
            INFO(level << ", " << setup.name << ", number " << static_cast<int>(number) << ", reduce "
                       << static_cast<int>(reduce) << ", include_self " << include_self << ", variant " << variant);
            const Scatter found = scattered(test, [&] {
              RunOptions options;
              options.threads = setup.threads;
              return cpu::reduce_with(cpu::kernels(level), setup.tuning, test.plan, test.buffers(), combine, options);
            });
            REQUIRE(found.outcome == expected.outcome);
            if (expected.outcome == Outcome::done && found.bytes != expected.bytes) FAIL("other bytes");
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
        REQUIRE(cpu::move_with(cpu::kernels(level), setup.tuning, turned, buffers, Direction::scatter, options) ==
                Outcome::done);
        REQUIRE((test.indexed.bytes == expected));
        test.indexed.bytes = before;
      }
    }
  }
}

TEST_CASE("the first duplicate is the lowest point that meets a target again") {
  Random random(11);
  int found_some = 0;
  for (int round = 0; round < 300; ++round) {
    CaseSpec spec;
    spec.direction = Direction::scatter;
    spec.item = random.pick<int64_t>({1, 4, 10});
    spec.rule.bounds = Bounds::fill;
    spec.bad = true;
    spec.masked = random.chance(50);
    spec.anchored = random.chance(50);
    spec.arrays = static_cast<int>(random.from(0, 2));
    spec.folds = spec.arrays == 1 && random.chance(30) ? 2 : 0;
    spec.extent = Dims{random.from(1, 4), random.from(1, 8)};
    Case test = make_case(spec, random);
    const Buffers buffers = test.buffers();
    const PlanView view = view_of(test.plan, buffers);
    std::optional<Duplicate> expected;
    for (int64_t second = 0; second < view.count && !expected && spec.arrays > 0; ++second) {
      for (int64_t first = 0; first < second && !expected; ++first) {
        const int64_t a = locate(view, first).indexed;
        const int64_t items = test.plan.unit / test.plan.item;
        if (a != kNowhere && a == locate(view, second).indexed) expected = Duplicate{first * items, second * items};
      }
    }
    const auto found = first_duplicate(test.plan, test.buffers());
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) continue;
    ++found_some;
    REQUIRE(found->first == expected->first);
    REQUIRE(found->second == expected->second);
  }
  REQUIRE(found_some > 50);
}

TEST_CASE("a scan in pieces finds what one scan finds") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    CaseSpec spec;
    spec.bad = random.chance(50);
    spec.masked = random.chance(50);
    spec.arrays = static_cast<int>(random.from(1, 3));
    spec.type = static_cast<IndexType>(random.from(0, 7));
    spec.extent = Dims{random.from(1, 6), random.from(1, 5), random.from(1, 900)};
    Case test = make_case(spec, random);
    const int64_t count = test.plan.index_space.count();
    const auto bad = first_outside(test.plan, test.buffers(), 0, count);
    const bool expected = bad.has_value();
    for (const int64_t piece : {int64_t{1}, int64_t{7}, random.from(1, count), count}) {
      bool found = false;
      for (int64_t begin = 0; begin < count; begin += piece) {
        found = any_outside(test.plan, test.buffers(), begin, std::min(begin + piece, count)) || found;
      }
      REQUIRE(found == expected);
    }
    cpu::Tuning tuning;
    tuning.serial_points = 0;
    REQUIRE(cpu::any_outside_with(tuning, test.plan, test.buffers(), {3, nullptr}) == expected);
    const auto found = cpu::first_outside_with(test.plan, test.buffers(), {3, nullptr});
    REQUIRE(found.has_value() == expected);
    if (expected) REQUIRE(same(*found, *bad));
  }
}

TEST_CASE("threads find the lowest bad index in any chunk, and count all of them") {
  std::vector<int32_t> index(200000, 3);
  Plan plan;
  plan.index_shape = plan.result_shape = Dims{static_cast<int64_t>(index.size())};
  plan.index_space = plan.space = Space(plan.index_shape, kIndex + 1);
  plan.index_space.stride(kIndex, 0) = plan.space.stride(kIndex, 0) = sizeof(int32_t);
  plan.index.push_back({IndexType::i32, 0, 100, 1});
  plan.finish();
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  REQUIRE_FALSE(cpu::first_outside_with(plan, buffers, {4, nullptr}));
  int64_t count = 0;
  for (const std::size_t at : {199999, 123456, 123455, 16384, 16383, 0}) {
    index[at] = 100 + static_cast<int32_t>(at);
    const auto bad = cpu::first_outside_with(plan, buffers, {4, nullptr});
    REQUIRE(bad);
    REQUIRE(bad->flat == static_cast<int64_t>(at));
    REQUIRE(bad->bits == 100 + at);
    REQUIRE(bad->count == ++count);
  }
}

TEST_CASE("indexed_span covers every address, and no more than that") {
  Random random(13);
  for (int round = 0; round < 200; ++round) {
    CaseSpec spec;
    spec.item = random.pick<int64_t>({1, 4, 24});
    spec.arrays = static_cast<int>(random.from(0, 2));
    spec.extent = Dims{random.from(1, 4), random.from(1, 8)};
    Case test = make_case(spec, random);
    const Buffers buffers = test.buffers();
    const PlanView view = view_of(test.plan, buffers);
    const Span span = indexed_span(test.plan);
    for (int64_t flat = 0; flat < view.count; ++flat) {
      const int64_t at = locate(view, flat).indexed;
      REQUIRE(at >= span.low);
      REQUIRE(at + test.plan.unit <= span.high);
    }
    REQUIRE(-span.low <= test.indexed.origin - kGuard);
    REQUIRE(span.high <= static_cast<int64_t>(test.indexed.bytes.size()) - test.indexed.origin - kGuard);
  }
}
