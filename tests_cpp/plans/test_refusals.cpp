// test_refusals.cpp: geometry that planners refuse, with the reason, beside the nearest geometry that they accept.
#include <string>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "plans/checks.h"
#include "plans/plans.h"

using namespace gs;

namespace {

const Rule kRaise{Bounds::raise, Negative::from_end};
constexpr int64_t kHuge = int64_t{1} << 40;

ArrayView view(const Dims& extent, const Dims& stride, int64_t item = 8) {
  return {nullptr, item, extent, stride};
}

ArrayView packed(const Dims& extent, int64_t item = 8) {
  return view(extent, contiguous_strides(extent, item), item);
}

IndexView index(const Dims& extent, const Dims& stride) {
  IndexView made;
  static_cast<ArrayView&>(made) = view(extent, stride);
  return made;
}

IndexView index(const Dims& extent) {
  return index(extent, contiguous_strides(extent, 8));
}

template <class Error = ShapeError, class Call>
void require_refusal(const std::string& says, Call call) {
  std::string message = "no error";
  try {
    call();
  } catch (const Error& error) {
    message = error.what();
  }
  INFO(message);
  REQUIRE(message.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE("every operand whose bytes do not fit in 64 bits is refused", "[refusals]") {
  const ArrayView good = packed({2});
  const ArrayView bad = view({2}, {INT64_MAX});
  const IndexView bad_index = index({2}, {INT64_MAX});
  const std::vector<IndexView> points{bad_index};
  const auto with = [](const ArrayView* mask, const ArrayView* fill, const ArrayView* dense) {
    Extras extras;
    extras.mask = mask;
    extras.fill = fill;
    extras.dense = dense;
    return extras;
  };
  require_refusal("too big", [&] { take_axis(bad, index({2}), 0, 0, kRaise, {}); });
  require_refusal("too big", [&] { take_axis(good, bad_index, 0, 0, kRaise, {}); });
  require_refusal("too big", [&] { along_axis(good, bad_index, 0, Match::prefix, kRaise, {}); });
  require_refusal("too big", [&] { at_points(good, points, {}, 0, kRaise, {}); });
  require_refusal("too big", [&] { elementwise(bad, {2}, {}); });
  require_refusal("too big", [&] { elementwise(good, {2}, with(&bad, nullptr, nullptr)); });
  require_refusal("too big", [&] { elementwise(good, {2}, with(nullptr, &bad, nullptr)); });
  require_refusal("too big", [&] { elementwise(good, {2}, with(nullptr, nullptr, &bad)); });
  require_refusal("too big", [&] { take_axis(bad, index({2}), std::nullopt, 0, kRaise, {}); });
  // The largest array that fits, and strides that no element uses.
  REQUIRE_NOTHROW(check_extents(view({2}, {INT64_MAX - 8})));
  REQUIRE_NOTHROW(check_extents(view({2}, {-(INT64_MAX - 8)})));
  REQUIRE_NOTHROW(check_extents(view({1}, {INT64_MIN})));
  REQUIRE_NOTHROW(check_extents(view({0, 2}, {8, INT64_MIN})));
  require_refusal("too big", [] { check_extents(view({2}, {INT64_MIN})); });
  require_refusal("too big", [] { check_extents(view({2, 2}, {INT64_MAX - 8, 1})); });
}

TEST_CASE("a result with more bytes than 64 bits can count is refused", "[refusals]") {
  const IndexView many = index({kHuge}, {0});
  require_refusal("too big", [&] { take_axis(view({2, kHuge}, {0, 0}), many, 0, 0, kRaise, {}); });
  const IndexView fewer = index({int64_t{1} << 31}, {0});
  require_refusal("too big", [&] { take_axis(view({2, int64_t{1} << 31}, {0, 0}), fewer, 0, 0, kRaise, {}); });
  // Also if the bytes of `out` fit, because its elements are one.
  const ArrayView one = view({kHuge, kHuge}, {0, 0});
  Extras extras;
  extras.dense = &one;
  require_refusal("too big", [&] { take_axis(view({2, kHuge}, {0, 0}), many, 0, 0, kRaise, extras); });
  // Without points, the indices are still scanned for bad ones.
  require_refusal("too big", [&] { take_axis(packed({2, 0}), index({kHuge, kHuge}, {0, 0}), 0, 0, kRaise, {}); });
}

TEST_CASE("batch_dims are refused beyond the ranks, and accepted up to them", "[refusals]") {
  const ArrayView input = packed({2, 3, 4});
  const std::vector<IndexView> points{index({2, 3})};
  for (const int64_t bad : {-1, 3}) {
    require_refusal("is not in [0, 2]", [&] { take_axis(input, index({2, 3}), 2, bad, kRaise, {}); });
    require_refusal("is not in [0, 2]", [&] { at_points(input, points, {}, bad, kRaise, {}); });
  }
  REQUIRE(take_axis(input, index({2, 3}), 2, 2, kRaise, {}).result_shape == Dims{2, 3});
  REQUIRE(at_points(input, points, {}, 2, kRaise, {}).result_shape == Dims{2, 3});
  require_refusal("is greater than axis", [&] { take_axis(input, index({2, 3}), 0, 1, kRaise, {}); });
  require_refusal("expected 0", [&] { take_axis(input, index({2}), std::nullopt, 1, kRaise, {}); });
}

TEST_CASE("points need an axis for each index", "[refusals]") {
  const std::vector<IndexView> two{index({5}), index({5})};
  REQUIRE(at_points(packed({2, 3}), two, {}, 0, kRaise, {}).result_shape == Dims{5});
  require_refusal("too many", [&] { at_points(packed({2}), two, {}, 0, kRaise, {}); });
  const std::vector<IndexView> batched{index({2, 5}), index({2, 5})};
  require_refusal("too many", [&] { at_points(packed({2, 3}), batched, {}, 1, kRaise, {}); });
  const std::vector<IndexView> unlike{index({5}), index({4})};
  require_refusal("do not broadcast", [&] { at_points(packed({2, 3}), unlike, {}, 0, kRaise, {}); });
  const std::vector<IndexView> stretched{index({5, 1}), index({4})};
  REQUIRE(at_points(packed({2, 3}), stretched, {}, 0, kRaise, {}).result_shape == Dims{5, 4});
}

TEST_CASE("a shape that suggests whole rows is refused with a word about rows, and no other shape is", "[refusals]") {
  const std::string rows = "whole rows are";
  const auto text = [](const ArrayView& input, const IndexView& index, Match match, const ArrayView* values) {
    Extras extras;
    extras.dense = values;
    extras.fit = Fit::leading;
    try {
      along_axis(input, index, 0, match, kRaise, values == nullptr ? Extras{} : extras);
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto says = [&](const std::string& message, bool about_rows) {
    INFO(message);
    REQUIRE(message.find("shape") != std::string::npos);
    REQUIRE((message.find(rows) != std::string::npos) == about_rows);
  };
  // An index of fewer axes than the input.
  says(text(packed({4, 3}), index({2}), Match::prefix, nullptr), true);
  says(text(packed({4, 3}), index({2}), Match::broadcast, nullptr), false);
  says(text(packed({4, 3}), index({2, 3, 1}), Match::prefix, nullptr), false);
  says(text(packed({4, 3}), index({2, 3, 1}), Match::broadcast, nullptr), false);
  // Values of whole rows for an index that names one element of each row.
  const ArrayView whole = packed({5, 3});
  const ArrayView flat = packed({7});
  const ArrayView narrow = packed({5, 1});
  const ArrayView scalar = packed({5, 1, 1});
  says(text(packed({4, 3}), index({2, 1}), Match::prefix, &flat), true);
  says(text(packed({4, 3}), index({2, 3}), Match::prefix, &flat), false);
  says(text(packed({4, 3}), index({6, 1}), Match::prefix, &whole), true);
  says(text(packed({4, 3}), index({6, 1}), Match::prefix, &narrow), false);
  says(text(packed({4, 3}), index({2, 1}), Match::prefix, &scalar), false);
  says(text(packed({4}), index({1}), Match::prefix, &whole), false);
}

TEST_CASE("along an axis, each way of matching refuses by its own words", "[refusals]") {
  const ArrayView input = packed({2, 3});
  require_refusal("is longer", [&] { along_axis(input, index({3, 3}), 1, Match::prefix, kRaise, {}); });
  require_refusal("does not broadcast", [&] { along_axis(input, index({3, 3}), 1, Match::broadcast, kRaise, {}); });
  REQUIRE(along_axis(input, index({1, 9}), 1, Match::prefix, kRaise, {}).result_shape == Dims{1, 9});
  REQUIRE(along_axis(input, index({1, 9}), 1, Match::broadcast, kRaise, {}).result_shape == Dims{2, 9});
  REQUIRE(along_axis(packed({1, 3}), index({4, 9}), 1, Match::broadcast, kRaise, {}).result_shape == Dims{4, 9});
  require_refusal("single dimension", [&] { along_axis(input, index({2, 2}), {}, Match::prefix, kRaise, {}); });
  REQUIRE(along_axis(input, index({4}), {}, Match::prefix, kRaise, {}).result_shape == Dims{4});
}

TEST_CASE("an output has the shape of the result, padding the size of an item", "[refusals]") {
  const ArrayView input = packed({2, 3});
  const ArrayView out = view({5, 3}, {100, 8});
  const ArrayView other = packed({5, 4});
  const ArrayView narrow = packed({}, 4);
  Extras extras;
  extras.dense = &out;
  const Plan plan = take_axis(input, index({5}), 0, 0, kRaise, extras);
  REQUIRE(plan.space.extents() == Dims{5});
  REQUIRE(plan.space.stride(kDense, 0) == 100);
  extras.dense = &other;
  require_refusal("out has shape (5, 4)", [&] { take_axis(input, index({5}), 0, 0, kRaise, extras); });
  Extras padding;
  padding.fill = &narrow;
  require_refusal<DTypeError>("items of 4 bytes", [&] { take_axis(input, index({5}), 0, 0, kRaise, padding); });
}

TEST_CASE("every planner takes masks and padding, and finishes its plan", "[refusals]") {
  const ArrayView mask = view({2, 3}, {3, 1}, 1);
  const ArrayView fill = view({2, 3}, {240, 80});
  Extras extras;
  extras.mask = &mask;
  extras.fill = &fill;
  const std::vector<IndexView> points{index({2, 3})};
  const Plan plans[] = {take_axis(packed({4}), index({2, 3}), 0, 0, kRaise, extras),
                        along_axis(packed({2, 3}), index({2, 3}), 1, Match::prefix, kRaise, extras),
                        at_points(packed({4}), points, {}, 0, kRaise, extras),
                        elementwise(packed({2, 3}), {2, 3}, extras)};
  for (const Plan& plan : plans) {
    REQUIRE(plan.masked);
    REQUIRE(plan.index_axes.size() == 2);
    REQUIRE(plan.index_space.count() == 6);
    REQUIRE(plan.index_space.operands() == kIndex + plan.index.size());
    REQUIRE(plan.space.operands() == kIndex + plan.index.size());
    const int last = plan.space.rank() - 1;
    REQUIRE(plan.space.stride(kMask, last) == 1);
    REQUIRE(plan.space.stride(kFill, last) == 80);
  }
  // One run of items where all operands allow it; whole rows as units.
  REQUIRE(elementwise(packed({2, 3}), {2, 3}, {}).unit == 48);
  REQUIRE(take_axis(packed({4, 5}), index({2, 3}), 0, 0, kRaise, {}).unit == 40);
  REQUIRE(at_points(packed({4, 5}), points, {}, 0, kRaise, {}).unit == 40);
  REQUIRE(along_axis(packed({2, 3}), index({2, 3}), 1, Match::prefix, kRaise, {}).kind == PlanKind::elements);
}

TEST_CASE("without an axis, the input is one flat axis whatever its strides", "[refusals]") {
  const Plan whole = take_axis(packed({2, 3}), index({5}), std::nullopt, 0, kRaise, {});
  REQUIRE(whole.result_shape == Dims{5});
  REQUIRE(whole.index[0].extent == 6);
  REQUIRE(whole.index[0].step == 8);
  REQUIRE(whole.fold.empty());
  const Plan turned = take_axis(view({2, 3}, {8, 16}), index({5}), std::nullopt, 0, kRaise, {});
  REQUIRE(turned.index[0].extent == 6);
  REQUIRE(turned.fold.size() == 2);
  REQUIRE(turned.fold[1] == FoldAxis{3, 16});
  const Plan apart = take_axis(view({4}, {24}), index({5}), std::nullopt, 0, kRaise, {});
  REQUIRE(apart.index[0].step == 24);
  REQUIRE(apart.fold.empty());
  REQUIRE(take_axis(view({1}, {24}), index({5}), std::nullopt, 0, kRaise, {}).index[0].step == 24);
}
