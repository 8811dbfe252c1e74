// test_first_duplicate.cpp: the search for the first duplicate of a scatter, compared with a loop over pairs of points.
#include <new>
#include <numeric>
#include <vector>

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
int64_t polls_per_search = 0;
std::vector<int32_t> shared_index;

// A scatter of so many items of 4 bytes to an axis of `extent` positions.
Plan plan_of(int64_t points, int64_t extent) {
  Plan plan;
  plan.item = plan.unit = 4;
  plan.space = Space(Dims{points}, kIndex + 1);
  plan.space.stride(kDense, 0) = plan.space.stride(kIndex, 0) = 4;
  plan.index.push_back({IndexType::i32, 0, extent, 4});
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

Buffers buffers_of(const std::vector<int32_t>& index) {
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  return buffers;
}

}  // namespace

TEST_CASE("items without bytes, and no points, have no duplicates", "[first_duplicate]") {
  const std::vector<int32_t> index(5, 1);
  Plan plan = plan_of(5, 9);
  REQUIRE(first_duplicate(plan, buffers_of(index)));
  plan.item = plan.unit = 0;
  REQUIRE_FALSE(first_duplicate(plan, buffers_of(index)));
  // Marks for the whole axis would not fit into memory, so that they are not even asked for.
  REQUIRE_FALSE(first_duplicate(plan_of(0, int64_t{1} << 58), buffers_of(index)));
}

TEST_CASE("marks that do not fit into memory are an error", "[first_duplicate]") {
  const std::vector<int32_t> index(5, 1);
  REQUIRE_THROWS_AS(first_duplicate(plan_of(5, int64_t{1} << 58), buffers_of(index)), std::bad_alloc);
}

TEST_CASE("a duplicate that is gone before its first point is found is none", "[first_duplicate]") {
  constexpr int64_t kPoints = 200'000;
  shared_index.resize(kPoints);
  std::iota(shared_index.begin(), shared_index.end(), 0);
  shared_index.back() = 70'000;
  const Plan plan = plan_of(kPoints, kPoints + 1);
  polls = 0;
  polls_per_search = kPoints / 65536;
  const auto found = first_duplicate(plan, buffers_of(shared_index), [] {
    // The first poll of the second search: another thread changes the first of the two points.
    if (++polls == polls_per_search + 1) shared_index[70'000] = kPoints;
    return false;
  });
  REQUIRE(polls > polls_per_search);
  REQUIRE_FALSE(found);
}

TEST_CASE("a search that is stopped has no result", "[first_duplicate]") {
  constexpr int64_t kPoints = 200'000;
  std::vector<int32_t> index(kPoints);
  std::iota(index.begin(), index.end(), 0);
  index.back() = 70'000;
  const Plan plan = plan_of(kPoints, kPoints);
  const Buffers buffers = buffers_of(index);

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
