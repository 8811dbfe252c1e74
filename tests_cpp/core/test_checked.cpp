// test_checked.cpp: sums and products of sizes at the edge of 64 bits, compared with arithmetic in 128 bits.
#include "catch.h"
#include "core/checked.h"

using namespace gs;

namespace {

const int64_t kEdges[] = {0,
                          1,
                          2,
                          3,
                          -1,
                          -2,
                          int64_t{1} << 31,
                          int64_t{1} << 32,
                          (int64_t{1} << 32) - 1,
                          INT64_MAX,
                          INT64_MAX - 1,
                          INT64_MIN,
                          INT64_MAX / 2,
                          INT64_MAX / 3,
                          -(int64_t{1} << 62)};

// `exact` in 64 bits, or nothing.
bool fits(__int128 exact) {
  return exact >= INT64_MIN && exact <= INT64_MAX;
}

}  // namespace

TEST_CASE("sums and products are exact or refused", "[checked]") {
  for (const int64_t a : kEdges) {
    for (const int64_t b : kEdges) {
      INFO(a << ", " << b);
      const __int128 sum = static_cast<__int128>(a) + b;
      if (fits(sum)) {
        REQUIRE(checked_add(a, b) == static_cast<int64_t>(sum));
      } else {
        REQUIRE_THROWS_AS(checked_add(a, b), ShapeError);
      }
      const __int128 product = static_cast<__int128>(a) * b;
      if (fits(product)) {
        REQUIRE(checked_mul(a, b) == static_cast<int64_t>(product));
      } else {
        REQUIRE_THROWS_AS(checked_mul(a, b), ShapeError);
      }
    }
  }
}

TEST_CASE("the points of a shape are counted, and an empty axis makes the count 0", "[checked]") {
  REQUIRE(checked_count({}) == 1);
  REQUIRE(checked_count({2, 3, 4}) == 24);
  REQUIRE(checked_count({INT64_MAX, 1}) == INT64_MAX);
  REQUIRE(checked_count({INT64_MAX, INT64_MAX, 0}) == 0);
  REQUIRE_THROWS_AS(checked_count({INT64_MAX, 2}), ShapeError);
}
