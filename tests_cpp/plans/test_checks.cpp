// test_checks.cpp: the checks of shapes and axes that planners use.
#include "catch.h"
#include "core/error.h"
#include "plans/checks.h"

using namespace gs;

namespace {

ArrayView view_of(const Dims& extent, int64_t item = 4) {
  ArrayView view;
  view.item = item;
  view.extent = extent;
  view.stride = contiguous_strides(extent, item);
  return view;
}

}  // namespace

TEST_CASE("shapes print as Python prints tuples", "[checks]") {
  REQUIRE(to_string({}) == "()");
  REQUIRE(to_string({3}) == "(3,)");
  REQUIRE(to_string({3, 4}) == "(3, 4)");
}

TEST_CASE("axes are counted from either end", "[checks]") {
  REQUIRE(normalize_axis(0, 3) == 0);
  REQUIRE(normalize_axis(-1, 3) == 2);
  REQUIRE(normalize_axis(-3, 3) == 0);
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN})
    REQUIRE_THROWS_AS(normalize_axis(axis, 3), AxisError);
  REQUIRE_THROWS_AS(normalize_axis(0, 0), AxisError);
}

TEST_CASE("byte offsets that do not fit in 64 bits are refused", "[checks]") {
  ArrayView wide = view_of({2, 2});
  wide.stride = {INT64_MAX, 4};
  REQUIRE_THROWS_AS(check_extents(wide), ShapeError);
  wide.stride = {INT64_MIN, 4};
  REQUIRE_THROWS_AS(check_extents(wide), ShapeError);
  wide.extent = {INT64_MAX, 0};
  REQUIRE_NOTHROW(check_extents(wide));
  ArrayView broadcast = view_of({2, 2});
  broadcast.extent = {INT64_MAX, 1};
  broadcast.stride = {0, 4};
  REQUIRE_NOTHROW(check_extents(broadcast));
}

TEST_CASE("broadcasting goes one way", "[checks]") {
  REQUIRE(broadcast_strides(view_of({4}), {3, 4}, "mask") == Dims{0, 4});
  REQUIRE(broadcast_strides(view_of({3, 1}), {3, 4}, "mask") == Dims{4, 0});
  REQUIRE(broadcast_strides(view_of({}), {3, 4}, "mask") == Dims{0, 0});
  REQUIRE(broadcast_strides(view_of({1}), {0}, "mask") == Dims{0});
  REQUIRE_THROWS_AS(broadcast_strides(view_of({4}), {8}, "mask"), ShapeError);
  REQUIRE_THROWS_AS(broadcast_strides(view_of({8}), {1}, "mask"), ShapeError);
  REQUIRE_THROWS_AS(broadcast_strides(view_of({1, 1}), {1}, "mask"), ShapeError);
}

TEST_CASE("an operand with the first axes is told its shape, and no other operand is", "[checks]") {
  const auto words_for = [](const Dims& given, const Dims& shape) {
    try {
      broadcast_strides(view_of(given), shape, "mask");
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string step = "; shapes are aligned at the last axis: give it the shape ";
  REQUIRE(words_for({3}, {3, 4}) == "mask of shape (3,) does not broadcast to the shape (3, 4)" + step + "(3, 1)");
  REQUIRE(words_for({3}, {3, 4, 5}) ==
          "mask of shape (3,) does not broadcast to the shape (3, 4, 5)" + step + "(3, 1, 1)");
  REQUIRE(words_for({2, 3}, {2, 3, 4}).ends_with(step + "(2, 3, 1)"));
  REQUIRE(words_for({2}, {3, 4}) == "mask of shape (2,) does not broadcast to the shape (3, 4)");
  REQUIRE(words_for({3, 5}, {3, 4}) == "mask of shape (3, 5) does not broadcast to the shape (3, 4)");
  REQUIRE(words_for({3, 4, 5}, {3, 4}) == "mask of shape (3, 4, 5) does not broadcast to the shape (3, 4)");
}

TEST_CASE("broadcasting together takes the longer of each axis", "[checks]") {
  REQUIRE(broadcast_shape({}, {3}, "a", "b") == Dims{3});
  REQUIRE(broadcast_shape({5, 1, 1}, {4, 1}, "a", "b") == Dims{5, 4, 1});
  REQUIRE(broadcast_shape({1}, {0}, "a", "b") == Dims{0});
  REQUIRE_THROWS_AS(broadcast_shape({3}, {4}, "a", "b"), ShapeError);
  REQUIRE_THROWS_AS(broadcast_shape({3}, {0}, "a", "b"), ShapeError);
}

TEST_CASE("a flattened source is one step where it can be, a fold elsewhere", "[checks]") {
  const Flattened contiguous = flatten(view_of({3, 4, 5}));
  REQUIRE(contiguous.extent == 60);
  REQUIRE(contiguous.step == 4);
  REQUIRE(contiguous.fold.empty());

  ArrayView transposed = view_of({3, 4});
  transposed.extent = {4, 3};
  transposed.stride = {4, 16};
  const Flattened folded = flatten(transposed);
  REQUIRE(folded.extent == 12);
  REQUIRE(folded.fold.size() == 2);
  REQUIRE(folded.fold[0] == FoldAxis{4, 4});
  REQUIRE(folded.fold[1] == FoldAxis{3, 16});
  REQUIRE(folded.step == 0);

  REQUIRE(flatten(view_of({})).extent == 1);
  REQUIRE(flatten(view_of({})).step == 0);
  REQUIRE(flatten(view_of({3, 0})).extent == 0);

  ArrayView far = view_of({2});
  far.stride = {INT64_MAX};
  REQUIRE_THROWS_AS(flatten(far), ShapeError);
}
