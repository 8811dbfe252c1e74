// test_choose_kernel.cpp: which launches run a plan on a device, and the size of the words that they move.
#include "backends/device/choose_kernel.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;
using device::LaunchForm;

namespace {

LaunchForm gather(const Plan& plan) {
  return device::launch_form(plan, Direction::gather);
}

LaunchForm scatter(const Plan& plan) {
  return device::launch_form(plan, Direction::scatter);
}

}  // namespace

TEST_CASE("gathers of small units launch elements where rows fill words") {
  REQUIRE(gather(take_plan(1000)) == LaunchForm::elements);
  REQUIRE(gather(take_plan(1000, 12)) == LaunchForm::units);
  REQUIRE(gather(gather_plan(10, 100, 8)) == LaunchForm::elements);  // rows of 32 bytes
  REQUIRE(gather(gather_plan(10, 100, 7)) == LaunchForm::units);
  Plan padded = take_plan(1000);
  padded.rule.bounds = Bounds::fill;
  REQUIRE(gather(padded) == LaunchForm::elements);
  padded.item = 2;  // the fill value is shorter than the unit
  REQUIRE(gather(padded) == LaunchForm::units);
}

TEST_CASE("a copy of one contiguous run is plain, any other copy moves units") {
  Plan plan;
  plan.item = plan.unit = 4096;
  plan.space = Space(Dims{}, kIndex);
  plan.finish();
  REQUIRE(gather(plan) == LaunchForm::plain);
  REQUIRE(scatter(plan) == LaunchForm::plain);
  plan.masked = true;
  REQUIRE(gather(plan) == LaunchForm::units);

  Plan strided;
  strided.item = strided.unit = 4;
  strided.space = Space(Dims{100}, kIndex);
  strided.space.stride(kDense, 0) = 4;
  strided.space.stride(kIndexed, 0) = 8;
  strided.finish();
  REQUIRE(gather(strided) == LaunchForm::units);
  REQUIRE(scatter(strided) == LaunchForm::units);  // no two points have one target
}

TEST_CASE("scatters whose targets may meet mark slots, or sort points where slots are many and points few") {
  constexpr int64_t kSlots = 1 << 20;
  REQUIRE(scatter(take_plan(10)) == LaunchForm::winners);
  REQUIRE(scatter(take_plan(10, 4, IndexType::i64, 1 << 16)) == LaunchForm::winners);
  REQUIRE(scatter(take_plan(10, 4, IndexType::i64, kSlots)) == LaunchForm::sorted);
  REQUIRE(scatter(take_plan(kSlots / 32 - 1, 4, IndexType::i64, kSlots)) == LaunchForm::sorted);
  REQUIRE(scatter(take_plan(kSlots / 32, 4, IndexType::i64, kSlots)) == LaunchForm::winners);
}

TEST_CASE("the common word is the largest power of two, at most 16, that divides all addresses of both sides") {
  Random random(47);
  int widest = 0;
  int bytes = 0;
  for (int round = 0; round < 2000; ++round) {
    CaseSpec spec;
    spec.item = random.pick<int64_t>({1, 2, 4, 8, 16, 32, 48, 100});
    spec.arrays = static_cast<int>(random.from(1, 2));
    spec.folds = spec.arrays == 1 && random.chance(30) ? 2 : 0;
    spec.plain = random.chance(70);
    spec.anchored = random.chance(70);
    spec.extent = Dims{random.from(1, 6), random.from(1, 6)};
    Case test = make_case(spec, random);
    const Plan& plan = test.plan;
    Buffers buffers;
    const int64_t dense = random.pick<int64_t>({1, 2, 4, 8, 16, 64});
    const int64_t indexed = random.pick<int64_t>({1, 2, 4, 8, 16, 64});
    buffers.dense = reinterpret_cast<std::byte*>(64 * 1024 + dense);  // is not read
    buffers.indexed = reinterpret_cast<std::byte*>(64 * 1024 + indexed);
    std::vector<int64_t> steps = {dense, indexed, plan.unit};
    for (int axis = 0; axis < plan.space.rank(); ++axis) {
      steps.push_back(plan.space.stride(kDense, axis));
      steps.push_back(plan.space.stride(kIndexed, axis));
    }
    for (const IndexArray& index : plan.index) {
      if (plan.fold.empty()) steps.push_back(index.step);
    }
    for (const FoldAxis& fold : plan.fold) steps.push_back(fold.stride);
    int word = 16;
    while (!std::all_of(steps.begin(), steps.end(), [&](int64_t step) { return step % word == 0; })) word /= 2;
    REQUIRE(device::common_word(plan, buffers) == word);
    widest += word == 16 ? 1 : 0;
    bytes += word == 1 ? 1 : 0;
  }
  REQUIRE(widest > 50);
  REQUIRE(bytes > 50);
}
