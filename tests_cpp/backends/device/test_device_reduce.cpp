// test_device_reduce.cpp: device kernels that combine values or scan for errors, on the emulated GPU, compared with
// loops.
#include "backends/device/scan.h"
#include "device_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

constexpr Reduce kReduces[] = {Reduce::add, Reduce::mul, Reduce::min, Reduce::max, Reduce::mean};
constexpr int kNumbers = static_cast<int>(Number::f8_e5m2fnuz);

int64_t size_of(Number number) {
  return visit_number(number, []<class T>() -> int64_t {
    if constexpr (std::is_void_v<T>) {
      return 0;
    } else {
      return sizeof(T);
    }
  });
}

CaseSpec scatter_wish(Random& random) {
  CaseSpec spec;
  spec.direction = Direction::scatter;
  spec.type = static_cast<IndexType>(random.from(0, 7));
  spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap});
  spec.bad = random.chance(50);
  spec.masked = random.chance(30);
  spec.plain = random.chance(60);
  spec.anchored = random.chance(50);
  spec.arrays = random.chance(85) ? 1 : static_cast<int>(random.from(0, 2));
  spec.extent = random.chance(30) ? Dims{random.from(1, 1500)} : Dims{random.from(1, 20), random.from(1, 40)};
  return spec;
}

}  // namespace

TEST_CASE("device kernels combine to the same bytes as a loop over the points, for every dtype and reduction") {
  Random random(20261123);
  const auto all = machines();
  for (int number = 1; number <= kNumbers; ++number) {
    for (const Reduce reduce : kReduces) {
      for (const bool include_self : {true, false}) {
        const Combine combine{reduce, static_cast<Number>(number), include_self};
        if (!has_reduction(combine)) continue;
        for (int variant = 0; variant < 12; ++variant) {
          CaseSpec spec = scatter_wish(random);
          spec.item = size_of(combine.number);
          spec.items = variant % 3 == 0 ? random.from(2, 40) : 1;
          if (variant == 1) spec.extent = Dims{5000};
          Case test = make_case(spec, random);
          if (random.chance(30)) misalign(test, random);
          const Bytes before = test.indexed.bytes;
          const Loop expected = reduce_by_points(test.plan, test.buffers(), combine);
          const Bytes bytes = test.indexed.bytes;
          test.indexed.bytes = before;
          const device::Queue queue = queue_on(random.pick(all));
          const auto receipt = queue.reduce_later(test.plan, test.buffers(), combine);
          INFO("number " << number << ", reduce " << static_cast<int>(reduce) << ", include_self " << include_self
                         << ", variant " << variant);
          REQUIRE((test.indexed.bytes == bytes));
          const device::Status found = receipt == nullptr ? device::Status() : receipt->status();
          REQUIRE(found.lowest == expected.status.lowest);
          REQUIRE(found.count == expected.status.count);
          test.indexed.bytes = before;
          const Outcome outcome = queue.reduce(test.plan, test.buffers(), combine, {});
          REQUIRE(outcome == (expected.status.is_clean() ? Outcome::done : Outcome::bad_index));
        }
      }
    }
  }
}

TEST_CASE("scans on a device name the same index as those on the CPU") {
  Random random(41);
  int bad = 0;
  for (int round = 0; round < 1000; ++round) {
    CaseSpec spec = scatter_wish(random);
    spec.direction = random.chance(50) ? Direction::gather : Direction::scatter;
    spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::deferred, Bounds::fill, Bounds::clip, Bounds::wrap});
    spec.rule.negative = random.chance(50) ? Negative::from_end : Negative::out_of_bounds;
    spec.bad = random.chance(70);
    spec.arrays = static_cast<int>(random.from(1, 3));
    Case test = make_case(spec, random);
    if (random.chance(40)) misalign(test, random);
    const auto expected = first_outside(test.plan, test.buffers());
    const device::Queue queue = queue_on(random.pick(machines()));
    REQUIRE(queue.any_outside(test.plan, test.buffers(), {}) == expected.has_value());
    const auto found = queue.first_outside(test.plan, test.buffers(), {});
    REQUIRE(found.has_value() == expected.has_value());
    if (!expected) continue;
    ++bad;
    REQUIRE(found->flat == expected->flat);
    REQUIRE(found->count == expected->count);
    REQUIRE(found->size == expected->size);
    REQUIRE(found->axis == expected->axis);
    REQUIRE(found->type == expected->type);
    REQUIRE(found->bits == expected->bits);
  }
  REQUIRE(bad > 200);
}

TEST_CASE("the first duplicate on a device is that of the CPU") {
  Random random(43);
  int some = 0;
  for (int round = 0; round < 500; ++round) {
    CaseSpec spec = scatter_wish(random);
    spec.item = random.pick<int64_t>({1, 4, 10});
    spec.items = random.chance(30) ? random.from(2, 5) : 1;
    spec.rule.bounds = Bounds::fill;
    if (random.chance(50)) spec.extent = Dims{random.from(1, 4), random.from(1, 6)};
    spec.folds = spec.arrays == 1 && random.chance(30) ? 2 : 0;
    Case test = make_case(spec, random);
    const auto expected = first_duplicate(test.plan, test.buffers());
    const auto found = queue_on(random.pick(machines())).first_duplicate(test.plan, test.buffers(), {});
    REQUIRE(found.has_value() == expected.has_value());
    if (!expected) continue;
    ++some;
    REQUIRE(found->first == expected->first);
    REQUIRE(found->second == expected->second);
  }
  REQUIRE(some > 50);
}
