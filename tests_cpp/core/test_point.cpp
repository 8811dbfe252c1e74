// test_point.cpp: the addresses of a point, compared with sums over coordinates, and the span that contains them.
#include "core/point.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// The offsets of a point from sums over its coordinates; `at` has the offset of every operand without the indices.
PointOffsets expected_at(const Plan& plan, const Buffers& buffers, const std::vector<int64_t>& at) {
  PointOffsets result{at[kDense], at[kIndexed], at[kFill], false};
  const auto nowhere = [&](bool bad) {
    result.indexed = kNowhere;
    result.bad = bad;
    return result;
  };
  if (plan.masked && buffers.mask[at[kMask]] == std::byte{0}) return nowhere(false);
  for (int a = 0; a < plan.index.size(); ++a) {
    const IndexArray& index = plan.index[a];
    const int64_t position = visit_index(index.type, [&]<class Index>() {
      Index value;
      std::memcpy(&value, buffers.index[a] + at[static_cast<size_t>(kIndex + a)], sizeof(value));
      return resolve(value, index.extent, plan.rule);
    });
    if (position == kNowhere) return nowhere(!plan.rule.fills());
    if (plan.fold.empty()) {
      result.indexed += position * index.step;
      continue;
    }
    Dims folded;
    for (const FoldAxis& fold : plan.fold) folded.push_back(fold.extent);
    const Dims coordinates = unravel(position, folded);
    for (int f = 0; f < plan.fold.size(); ++f) result.indexed += coordinates[f] * plan.fold[f].stride;
  }
  return result;
}

}  // namespace

TEST_CASE("the offsets of a point are sums over its coordinates, for any number of index arrays", "[point]") {
  Random random(17);
  int64_t nowhere = 0;
  int64_t bad = 0;
  for (int round = 0; round < 600; ++round) {
    CaseSpec spec;
    spec.item = random.pick<int64_t>({1, 4, 24});
    spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap});
    spec.rule.negative = random.chance(50) ? Negative::from_end : Negative::out_of_bounds;
    spec.bad = true;
    spec.masked = random.chance(50);
    spec.with_fill = spec.fill_varies = random.chance(50);
    spec.arrays = static_cast<int>(random.from(0, 6));
    spec.type = static_cast<IndexType>(random.from(0, 7));
    spec.folds = spec.arrays == 1 && random.chance(50) ? static_cast<int>(random.from(1, 3)) : 0;
    spec.extent = Dims{random.from(1, 4), random.from(1, 5), random.from(1, 6)};
    Case test = make_case(spec, random);
    const Buffers buffers = test.buffers();
    const PlanView view = view_of(test.plan, buffers);
    int64_t flat = 0;
    for_each_point(test.plan.space, [&](const std::vector<int64_t>& at) {
      const PointOffsets expected = expected_at(test.plan, buffers, at);
      const PointOffsets found = locate(view, flat++);
      REQUIRE(found.dense == expected.dense);
      REQUIRE(found.indexed == expected.indexed);
      REQUIRE(found.bad == expected.bad);
      if (test.with_fill) REQUIRE(found.fill == expected.fill);
      nowhere += found.indexed == kNowhere ? 1 : 0;
      bad += found.bad ? 1 : 0;
    });
    REQUIRE(flat == view.count);
  }
  REQUIRE(bad > 1000);
  REQUIRE(nowhere > bad + 1000);
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
