// test_device_move.cpp: device kernels that move, on the emulated GPU, compared with a loop over the points.
#include <map>
#include <set>

#include "backends/device/bodies/slots.h"
#include "backends/device/move.h"
#include "backends/device/uploaded_plan.h"
#include "core/checked.h"
#include "device_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// Whether the bytes and the reported bad points are those of the loop.
void check(Case& test, Direction direction, const reference::Settings& settings) {
  Array& target = direction == Direction::gather ? test.dense : test.indexed;
  const Bytes before = target.bytes;
  const Loop expected = move_by_points(test.plan, test.buffers(), direction);
  const Bytes bytes = target.bytes;
  target.bytes = before;
  const device::Queue queue = queue_on(settings);
  const auto receipt = queue.move_later(test.plan, test.buffers(), direction);
  const bool same = target.bytes == bytes;
  target.bytes = before;
  const Outcome outcome = queue.move(test.plan, test.buffers(), direction, {});
  const bool again = target.bytes == bytes;
  target.bytes = before;
  INFO("kernel " << queue.kernel(test.plan, direction, {}, 1) << ", kind " << kind_name(test.plan.kind) << ", unit "
                 << test.plan.unit << ", " << settings.blocks << " blocks");
  REQUIRE(same);
  REQUIRE(again);
  REQUIRE(outcome == (expected.status.is_clean() ? Outcome::done : Outcome::bad_index));
  const device::Status found = receipt == nullptr ? device::Status() : receipt->status();
  REQUIRE(found.lowest == expected.status.lowest);
  REQUIRE(found.count == expected.status.count);
}

CaseSpec wish_of(Random& random, Direction direction) {
  CaseSpec spec;
  spec.direction = direction;
  spec.item = random.pick<int64_t>({1, 2, 3, 4, 5, 8, 10, 12, 16, 24, 32, 100});
  spec.items = random.chance(70) ? 1 : random.from(1, 40);
  spec.type = static_cast<IndexType>(random.from(0, 7));
  spec.rule.bounds = random.pick<Bounds>(
      {Bounds::raise, Bounds::deferred, Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked});
  spec.rule.negative = random.chance(70) ? Negative::from_end : Negative::out_of_bounds;
  spec.bad = spec.rule.bounds != Bounds::unchecked && random.chance(70);
  spec.masked = random.chance(30);
  spec.with_fill = random.chance(50);
  spec.fill_varies = random.chance(50);
  spec.plain = random.chance(60);
  spec.anchored = random.chance(50);
  spec.arrays = random.chance(75) ? 1 : static_cast<int>(random.from(0, 4));
  spec.folds = spec.arrays == 1 && random.chance(15) ? static_cast<int>(random.from(1, 3)) : 0;
  const int64_t unit = spec.item * spec.items;
  const int rank = static_cast<int>(random.from(0, 6));
  int64_t points = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t most = std::max<int64_t>(3000 / points, 1);
    const int64_t wanted = random.chance(60) ? random.from(1, 5) : random.pick(kEdges);
    spec.extent.push_back(random.chance(2) ? 0 : std::min(wanted, std::min(most, 40000 / unit + 1)));
    points *= std::max<int64_t>(spec.extent.back(), 1);
  }
  return spec;
}

}  // namespace

TEST_CASE("device kernels move what a loop over the points moves") {
  Random random(20261122);
  const auto all = machines();
  std::map<std::string, int> ran;
  for (int round = 0; round < 4000; ++round) {
    const Direction direction = round % 2 == 0 ? Direction::gather : Direction::scatter;
    const CaseSpec spec = wish_of(random, direction);
    Case test = make_case(spec, random);
    if (test.plan.rule.bounds == Bounds::unchecked && std::any_of(test.plan.index.begin(), test.plan.index.end(),
                                                                  [](const auto& array) { return array.extent == 0; }))
      continue;
    if (random.chance(40)) misalign(test, random);
    ++ran[device::kernel_name(test.plan, direction)];
    INFO("round " << round);
    check(test, direction, random.pick(all));
  }
  for (const char* kernel : {"copy", "elements", "units", "winners"}) {
    INFO(kernel);
    REQUIRE(ran[kernel] > 30);
  }
}

TEST_CASE("device kernels gather small units of any length, at any address") {
  Random random(3);
  for (const int64_t unit : {1, 2, 4, 8, 16}) {
    for (const int64_t row : {1, 3, 7, 8, 15, 16, 17, 31, 64, 255, 256, 257, 4099}) {
      for (int64_t type = 0; type < 8; ++type) {
        CaseSpec spec;
        spec.item = unit;
        spec.type = static_cast<IndexType>(type);
        spec.plain = true;
        spec.anchored = random.chance(50);
        spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill});
        spec.bad = random.chance(30);
        spec.masked = random.chance(30);
        spec.with_fill = random.chance(30);
        spec.extent = random.chance(50) ? Dims{row} : Dims{random.from(1, 3), row};
        Case test = make_case(spec, random);
        if (random.chance(50)) {  // whole units, so that the kernel for elements is chosen
          const int64_t by = unit * random.from(1, 15);
          test.dense.bytes.insert(test.dense.bytes.begin(), static_cast<size_t>(by), std::byte{1});
          test.dense.origin += by;
          test.index[0].bytes.insert(test.index[0].bytes.begin(), static_cast<size_t>(1 << (type & 3)), std::byte{1});
          test.index[0].origin += 1 << (type & 3);
        }
        check(test, Direction::gather, random.pick(machines()));
      }
    }
  }
}

TEST_CASE("the last of many points of a target is kept, by marks and by sorting, on top of a base") {
  Random random(17);
  std::set<std::string> ran;
  for (int round = 0; round < 200; ++round) {
    CaseSpec spec;
    spec.direction = Direction::scatter;
    spec.item = random.pick<int64_t>({1, 2, 4, 6, 8, 16, 48});
    spec.extent = round % 4 == 0 ? Dims{3} : Dims{random.from(1, 3), random.from(1, 2000)};
    spec.plain = spec.anchored = round % 4 == 0;
    Case test = make_case(spec, random);
    if (round % 4 == 0) {  // three points and a target far larger than they need
      test.plan.index[0].extent = 70000;
      test.plan.index[0].step = spec.item;
      test.plan.finish();
      test.indexed = make_array({0, 70000 * spec.item}, random);
      for_each_point(test.plan.space, [&](const std::vector<int64_t>& at) {
        store(test.index[0].data() + at[kIndex], IndexType::i64, random.from(0, 1) * 69999);
      });
    }
    if (random.chance(40)) misalign(test, random);
    ran.insert(device::kernel_name(test.plan, Direction::scatter));
    check(test, Direction::scatter, random.pick(machines()));

    const Span span = indexed_span(test.plan);
    Bytes base(static_cast<size_t>(span.high - span.low));
    random.fill(base);
    Buffers buffers = test.buffers();
    if (span.low < 0) continue;
    buffers.base = base.data();
    buffers.base_bytes = span.high;
    move_by_points(test.plan, buffers, Direction::scatter);
    const Bytes expected = test.indexed.bytes;
    random.fill(test.indexed.bytes);
    std::copy(expected.begin(), expected.begin() + test.indexed.origin, test.indexed.bytes.begin());
    std::copy(expected.begin() + test.indexed.origin + span.high, expected.end(),
              test.indexed.bytes.begin() + test.indexed.origin + span.high);
    REQUIRE(queue_on(random.pick(machines())).move(test.plan, buffers, Direction::scatter, {}) == Outcome::done);
    REQUIRE((test.indexed.bytes == expected));
  }
  REQUIRE(ran.count("winners") == 1);
  REQUIRE(ran.count("sorted") == 1);
}

TEST_CASE("plans too long for the parameters of a kernel run all the same") {
  Random random(23);
  for (int round = 0; round < 40; ++round) {
    CaseSpec spec;
    spec.direction = round % 2 == 0 ? Direction::gather : Direction::scatter;
    spec.item = 4;
    spec.masked = random.chance(50);
    spec.arrays = round % 4 < 2 ? static_cast<int>(random.from(1, 3)) : 14;
    if (round % 4 < 2) {
      spec.extent = Dims(12, 2);
    } else {
      spec.extent = Dims{random.from(1, 5), random.from(1, 5), random.from(2, 7)};
    }
    if (spec.direction == Direction::scatter && spec.arrays == 14) spec.arrays = 3;
    Case test = make_case(spec, random);
    check(test, spec.direction, random.pick(machines()));
  }
}

TEST_CASE("divisions by multiplication are exact") {
  Random random(29);
  std::vector<int64_t> numbers = {1, 2, 3, 5, 7, 10, 255, 256, 257, 65537, INT32_MAX, int64_t{1} << 31, INT64_MAX};
  for (int shift = 0; shift < 63; ++shift) {
    numbers.push_back(int64_t{1} << shift);
    numbers.push_back(random.from(1, (int64_t{1} << shift) + 1));
  }
  for (const int64_t divisor : numbers) {
    const device::Divider by(divisor);
    for (const int64_t number : numbers) {
      for (const int64_t off : {-1, 0, 1}) {
        const int64_t dividend = number == INT64_MAX && off > 0 ? number : number + off;
        REQUIRE(by.divide(dividend) == dividend / divisor);
      }
      REQUIRE(by.divide(number / divisor * divisor) == number / divisor);
    }
  }
}

TEST_CASE("points beyond 2^31 are found where the plan says") {
  Random random(31);
  for (int round = 0; round < 200; ++round) {
    Plan plan;
    plan.item = plan.unit = 1;
    plan.space = Space(Dims{random.from(2, 900), random.from(2, 70000), random.from(2, 70000)}, kIndex);
    for (int operand : {kDense, kIndexed}) {
      for (int axis = 0; axis < 3; ++axis) plan.space.stride(operand, axis) = random.from(-100000, 100000);
    }
    reference::HostMachine machine;
    const device::UploadedPlan table(machine, plan, {});
    for (int i = 0; i < 50; ++i) {
      const int64_t flat = random.from(0, plan.space.count() - 1);
      const Dims at = unravel(flat, plan.space.extents());
      int64_t dense = 0;
      int64_t indexed = 0;
      for (int axis = 0; axis < 3; ++axis) {
        dense += at[axis] * plan.space.stride(kDense, axis);
        indexed += at[axis] * plan.space.stride(kIndexed, axis);
      }
      device::PointState spot = table->look(flat);
      REQUIRE(table->settle(flat, spot));
      REQUIRE(spot.dense == dense);
      REQUIRE(spot.indexed == indexed);
      REQUIRE(table->offset_of(kDense, flat) == dense);
    }
  }
}

TEST_CASE("a long move on the machine of the CPU can be interrupted") {
  Random random(37);
  CaseSpec spec;
  spec.extent = Dims{3000000};
  spec.plain = true;
  spec.item = 1;
  Case test = make_case(spec, random);
  RunOptions options;
  options.interrupted = [] { return true; };
  const device::Queue queue = queue_on({5, 1 << 20});
  Outcome outcome = Outcome::done;
  while (outcome == Outcome::done) outcome = queue.move(test.plan, test.buffers(), Direction::gather, options);
  REQUIRE(outcome == Outcome::interrupted);
  options.interrupted = [] { return false; };
  REQUIRE(queue.move(test.plan, test.buffers(), Direction::gather, options) == Outcome::done);
}
