// test_overlap.cpp: checks the overlap tests against a list of all bytes of small arrays, and their decisions on large
// ones.
#include <random>
#include <set>

#include "calls/overlap.h"
#include "catch.h"

namespace gs {
namespace {

// The bytes of an array, an element after the other; coordinates in C order.
std::vector<std::vector<int64_t>> bytes_of_elements(const ArrayView& view) {
  std::vector<std::vector<int64_t>> elements{{}};
  std::vector<int64_t> starts{reinterpret_cast<intptr_t>(view.data)};
  for (int axis = 0; axis < view.rank(); ++axis) {
    std::vector<int64_t> next;
    for (const int64_t start : starts) {
      for (int64_t i = 0; i < view.extent[axis]; ++i) next.push_back(start + i * view.stride[axis]);
    }
    starts = next;
  }
  elements.clear();
  for (const int64_t start : starts) {
    std::vector<int64_t> bytes;
    for (int64_t byte = 0; byte < view.item; ++byte) bytes.push_back(start + byte);
    elements.push_back(bytes);
  }
  return elements;
}

bool share_a_byte(const ArrayView& a, const ArrayView& b) {
  std::set<int64_t> bytes;
  for (const auto& element : bytes_of_elements(a)) bytes.insert(element.begin(), element.end());
  for (const auto& element : bytes_of_elements(b)) {
    for (const int64_t byte : element) {
      if (bytes.count(byte) > 0) return true;
    }
  }
  return false;
}

bool repeats_a_byte(const ArrayView& view) {
  std::set<int64_t> bytes;
  for (const auto& element : bytes_of_elements(view)) {
    for (const int64_t byte : element) {
      if (!bytes.insert(byte).second) return true;
    }
  }
  return false;
}

class Arrays {
 public:
  explicit Arrays(unsigned seed) : random_(seed) {}
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  // Addresses are never read.
  ArrayView next(int most_axes, int64_t most_extent, int64_t most_stride) {
    ArrayView view;
    view.data = reinterpret_cast<std::byte*>(1'000'000 + number(0, 60));
    view.item = number(0, 8) == 0 ? 0 : number(1, 9);
    const auto rank = static_cast<int>(number(0, most_axes));
    for (int axis = 0; axis < rank; ++axis) {
      view.extent.push_back(number(0, 12) == 0 ? 0 : number(1, most_extent));
      view.stride.push_back(number(-most_stride, most_stride));
    }
    return view;
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("two arrays overlap exactly if they share a byte") {
  Arrays arrays(7);
  int overlaps = 0;
  for (int round = 0; round < 20'000; ++round) {
    const ArrayView a = arrays.next(3, 4, 40);
    const ArrayView b = arrays.next(3, 4, 40);
    const bool expected = share_a_byte(a, b);
    overlaps += expected ? 1 : 0;
    REQUIRE(overlap(a, b) == expected);
    REQUIRE(overlap(b, a) == expected);
  }
  CHECK(overlaps > 2'000);
  CHECK(overlaps < 18'000);
}

TEST_CASE("an array overlaps itself exactly if two of its elements share a byte") {
  Arrays arrays(11);
  int overlaps = 0;
  for (int round = 0; round < 20'000; ++round) {
    const ArrayView view = arrays.next(4, 4, 60);
    const bool expected = repeats_a_byte(view);
    overlaps += expected ? 1 : 0;
    REQUIRE(overlaps_itself(view) == expected);
  }
  CHECK(overlaps > 2'000);
  CHECK(overlaps < 18'000);
}

ArrayView strided(int64_t start, int64_t item, Dims extent, Dims stride) {
  return {reinterpret_cast<std::byte*>(start), item, extent, stride};
}

TEST_CASE("large interleaved arrays are decided without a list of their elements") {
  constexpr int64_t kStart = int64_t{1} << 40;
  const int64_t n = 10'000'000;
  // Even and odd elements of one array; columns of one matrix; real and imaginary parts.
  CHECK_FALSE(overlap(strided(kStart, 8, {n}, {16}), strided(kStart + 8, 8, {n}, {16})));
  CHECK(overlap(strided(kStart, 8, {n}, {16}), strided(kStart + 8, 9, {n}, {16})));
  CHECK_FALSE(overlap(strided(kStart, 4, {n, 3}, {40, 4}), strided(kStart + 12, 4, {n, 7}, {40, 4})));
  CHECK(overlap(strided(kStart, 4, {n, 4}, {40, 4}), strided(kStart + 12, 4, {n, 7}, {40, 4})));
  CHECK_FALSE(overlap(strided(kStart, 4, {n, 1000}, {4004, 4}), strided(kStart + 4000, 4, {n}, {4004})));
  // Axes that interleave: 3 and 5 reach each sum at most once up to the least common multiple.
  CHECK_FALSE(overlaps_itself(strided(kStart, 8, {5, 3}, {24, 40})));
  CHECK(overlaps_itself(strided(kStart, 8, {6, 4}, {24, 40})));
  CHECK_FALSE(overlaps_itself(strided(kStart, 8, {2'000'001, 2}, {16, 16 * 2'000'001 + 8})));
  CHECK(overlaps_itself(strided(kStart, 8, {2'000'001, 2}, {16, 16 * 2'000'000})));
  CHECK(overlaps_itself(strided(kStart, 8, {n}, {0})));
  CHECK(overlaps_itself(strided(kStart, 8, {n}, {7})));
}

TEST_CASE("a remainder that takes too many steps to find counts as an overlap") {
  constexpr int64_t kWide = int64_t{1} << 40;
  const int64_t n = int64_t{1} << 21;
  CHECK(overlap(strided(kWide, 1, {n}, {kWide + 1}), strided(kWide + kWide / 2, 1, {n}, {kWide})));
  CHECK_FALSE(overlap(strided(kWide, 1, {1000}, {kWide + 1}), strided(kWide + kWide / 2, 1, {1000}, {kWide})));
}

TEST_CASE("problems of many axes end, and an element that two arrays share is never missed") {
  Arrays arrays(3);
  for (int round = 0; round < 20; ++round) {
    ArrayView a = strided(int64_t{1} << 40, 1, {}, {});
    ArrayView b = a;
    for (int axis = 0; axis < 9; ++axis) {
      a.extent.push_back(30);
      a.stride.push_back(2 * arrays.number(1'000'000, 2'000'000));
      b.extent.push_back(30);
      b.stride.push_back(2 * arrays.number(1'000'000, 2'000'000));
    }
    b.data += 1;
    CHECK_FALSE(overlap(a, b));  // the greatest common divisor of all strides decides
    for (int axis = 0; axis < 9; ++axis) {
      a.stride[axis] += arrays.number(0, 1);
      b.stride[axis] += arrays.number(0, 1);
    }
    b.data = a.data;
    for (int axis = 0; axis < 9; ++axis) {
      b.data += arrays.number(0, 29) * a.stride[axis] - arrays.number(0, 29) * b.stride[axis];
    }
    CHECK(overlap(a, b));  // too hard to be decided in every round: then it counts as an overlap
  }
}

}  // namespace
}  // namespace gs
