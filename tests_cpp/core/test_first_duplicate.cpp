// test_first_duplicate.cpp: the search for the first duplicate of a scatter, compared with a loop over pairs of points.
#include "core/point.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("the first duplicate is the lowest point that has the target of an earlier one", "[first_duplicate]") {
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

namespace {

int polls = 0;

}  // namespace

TEST_CASE("a search that is stopped has no result", "[first_duplicate]") {
  constexpr int64_t kPoints = 200'000;
  std::vector<int32_t> index(kPoints);
  std::iota(index.begin(), index.end(), 0);
  index.back() = 70'000;
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{kPoints}, kIndex + 1);
  plan.space.stride(kDense, 0) = plan.space.stride(kIndex, 0) = 4;
  plan.index.push_back({IndexType::i32, 0, kPoints, 4});
  plan.index_space = plan.space;
  plan.finish();
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));

  polls = 0;
  const auto found = first_duplicate(plan, buffers, [] { return ++polls < 0; });
  REQUIRE(found);
  REQUIRE(found->first == 70'000);
  REQUIRE(found->second == kPoints - 1);
  const int all = polls;
  REQUIRE(all >= 3);  // in the search for the second point, and in the search for the first one
  for (int stop = 1; stop <= all; ++stop) {
    polls = -stop;
    REQUIRE_FALSE(first_duplicate(plan, buffers, [] { return ++polls == 0; }));
    REQUIRE(polls == 0);
  }
}
