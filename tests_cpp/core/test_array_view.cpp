// test_array_view.cpp: the strides of contiguous arrays.
#include "catch.h"
#include "core/array_view.h"
#include "core/error.h"
#include "core/plan.h"

using namespace gs;

TEST_CASE("the strides of a contiguous array number its elements in C order", "[array_view]") {
  for (const Dims& extent : {Dims{}, Dims{5}, Dims{2, 3, 4}, Dims{1, 7, 1}, Dims{3, 1, 2, 2}}) {
    for (const int64_t item : {0, 1, 8, 24}) {
      const Dims stride = contiguous_strides(extent, item);
      REQUIRE(stride.size() == extent.size());
      int64_t count = 1;
      for (const int64_t n : extent) count *= n;
      for (int64_t flat = 0; flat < count; ++flat) {
        const Dims at = unravel(flat, extent);
        int64_t offset = 0;
        for (int axis = 0; axis < extent.size(); ++axis) offset += at[axis] * stride[axis];
        REQUIRE(offset == flat * item);
      }
    }
  }
}

TEST_CASE("an empty array has strides, however long its other axes are", "[array_view]") {
  REQUIRE(contiguous_strides({INT64_MAX, 0, INT64_MAX}, 8) == Dims{8, 8, 8});
}

TEST_CASE("strides that do not fit in 64 bits are refused", "[array_view]") {
  REQUIRE_THROWS_AS(contiguous_strides({int64_t{1} << 32, int64_t{1} << 32}, 1), ShapeError);
  REQUIRE_THROWS_AS(contiguous_strides({1, int64_t{1} << 60, 1}, 8), ShapeError);
  REQUIRE(contiguous_strides({1, int64_t{1} << 60}, 4) == Dims{int64_t{1} << 62, 4});
}
