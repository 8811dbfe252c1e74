// test_small_vector.cpp: the vector that stores a few values inline and more values on the heap.
#include "catch.h"
#include "core/small_vector.h"

using gs::Dims;

TEST_CASE("values survive the move to the heap", "[small_vector]") {
  gs::SmallVector<int64_t, 2> list;
  for (int64_t i = 0; i < 100; ++i) {
    list.push_back(i);
    REQUIRE(list.size() == i + 1);
    for (int j = 0; j <= i; ++j) REQUIRE(list[j] == j);
  }
}

TEST_CASE("copies are independent, whatever the sizes", "[small_vector]") {
  const int from = GENERATE(0, 1, 8, 9, 40);
  const int to = GENERATE(0, 1, 8, 9, 40);
  Dims source(from, 7);
  Dims target(to, 3);
  target = source;
  REQUIRE(target == source);
  if (from > 0) {
    target[0] = 1;
    REQUIRE(source[0] == 7);
  }
  const Dims& self = target;
  target = self;
  REQUIRE(target.size() == from);
}

TEST_CASE("erase closes the gap and append adds behind", "[small_vector]") {
  Dims list{0, 1, 2, 3, 4};
  list.erase(1, 2);
  REQUIRE(list == Dims{0, 3, 4});
  const int64_t more[] = {5, 6};
  list.append(more, 2);
  REQUIRE(list == Dims{0, 3, 4, 5, 6});
  REQUIRE_FALSE(list == Dims{0, 3, 4, 5});
  list.resize(7, 9);
  REQUIRE(list.back() == 9);
  const Dims& same = list;
  REQUIRE(same.back() == 9);
}

TEST_CASE("append writes nothing behind its entries", "[small_vector]") {
  struct Place {
    gs::SmallVector<int64_t, 2> list;
    int64_t behind = 7;
  } place;
  const int64_t values[] = {1, 2, 3};
  place.list.append(values, 2);
  REQUIRE(place.list[1] == 2);
  REQUIRE(place.behind == 7);
}
