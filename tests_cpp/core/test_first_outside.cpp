// test_first_outside.cpp: the search for the lowest bad index.
#include <cstring>
#include <random>
#include <vector>

#include "catch.h"
#include "core/plan.h"

using namespace gs;

namespace {

template <class Index>
IndexType type_of() {
  const int size = sizeof(Index) == 1 ? 0 : sizeof(Index) == 2 ? 1 : sizeof(Index) == 4 ? 2 : 3;
  return static_cast<IndexType>(size + (std::is_signed_v<Index> ? 0 : 4));
}

// A plan with the index space `shape`, which one C-contiguous index array for an axis of `extent` positions covers.
template <class Index>
Plan contiguous_plan(const Dims& shape, int64_t extent, Rule rule) {
  Plan plan;
  plan.rule = rule;
  plan.index_shape = plan.result_shape = shape;
  plan.index_space = plan.space = Space(shape, kIndex + 1);
  const Dims stride = contiguous_strides(shape, sizeof(Index));
  for (int axis = 0; axis < shape.size(); ++axis) plan.index_space.stride(kIndex, axis) = stride[axis];
  plan.index.push_back({type_of<Index>(), 0, extent, 1});
  plan.finish();
  return plan;
}

template <class Index>
Buffers on(const std::vector<Index>& index) {
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  return buffers;
}

}  // namespace

TEMPLATE_TEST_CASE("the lowest of several bad positions is found at any place", "[first_outside]", int8_t, uint8_t,
                   int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t) {
  const int64_t sizes[] = {1, 2, 15, 64, 1023, 1024, 1025, 5000};
  for (const int64_t size : sizes) {
    for (const int64_t at : {int64_t{0}, size / 2, size - 1}) {
      std::vector<TestType> index(static_cast<std::size_t>(size), TestType{3});
      const Plan plan = contiguous_plan<TestType>({size}, 100, {Bounds::raise, Negative::from_end});
      REQUIRE_FALSE(first_outside(plan, on(index)));
      REQUIRE_FALSE(any_outside(plan, on(index), 0, plan.index_space.count()));
      index[static_cast<std::size_t>(at)] = TestType{100};
      index.back() = TestType{101};
      const auto bad = first_outside(plan, on(index));
      REQUIRE(bad);
      REQUIRE(any_outside(plan, on(index), 0, plan.index_space.count()));
      REQUIRE(bad->flat == at);
      REQUIRE(bad->count == (at == size - 1 ? 1 : 2));
      REQUIRE(bad->size == 100);
      REQUIRE(bad->bits == (at == size - 1 ? 101u : 100u));
    }
  }
}

TEST_CASE("edges of the signed range are compared at full width", "[first_outside]") {
  const auto is_bad = [](int64_t value, int64_t extent, Negative negative) {
    const std::vector<int64_t> index(70, value);
    const Plan plan = contiguous_plan<int64_t>({70}, extent, {Bounds::raise, negative});
    REQUIRE(any_outside(plan, on(index), 0, plan.index_space.count()) == first_outside(plan, on(index)).has_value());
    return any_outside(plan, on(index), 0, plan.index_space.count());
  };
  for (const int64_t n : {int64_t{1}, int64_t{5}, int64_t{1} << 40, INT64_MAX - 1}) {
    REQUIRE_FALSE(is_bad(0, n, Negative::from_end));
    REQUIRE_FALSE(is_bad(n - 1, n, Negative::from_end));
    REQUIRE_FALSE(is_bad(-n, n, Negative::from_end));
    REQUIRE(is_bad(n, n, Negative::from_end));
    REQUIRE(is_bad(-n - 1, n, Negative::from_end));
    REQUIRE(is_bad(-1, n, Negative::out_of_bounds));
    REQUIRE(is_bad(INT64_MIN, n, Negative::from_end));
    REQUIRE(is_bad(INT64_MAX, n, Negative::from_end));
  }
}

TEST_CASE("a masked index is not checked", "[first_outside]") {
  std::vector<int32_t> index{1, 99, 2, -77, 5};
  const unsigned char mask[] = {1, 0, 1, 0, 1};
  Plan plan = contiguous_plan<int32_t>({5}, 5, {Bounds::raise, Negative::from_end});
  plan.masked = true;
  plan.index_space.stride(kMask, 0) = 1;
  Buffers buffers = on(index);
  buffers.mask = reinterpret_cast<const std::byte*>(mask);
  const auto bad = first_outside(plan, buffers);
  REQUIRE(bad);
  REQUIRE(bad->flat == 4);
  REQUIRE(bad->count == 1);
  index[4] = 4;
  REQUIRE_FALSE(first_outside(plan, buffers));
}

TEST_CASE("rules without errors find nothing, except on an empty axis", "[first_outside]") {
  const std::vector<int64_t> index{-100, 100, 0};
  for (const Bounds bounds : {Bounds::fill, Bounds::clip, Bounds::wrap, Bounds::unchecked}) {
    REQUIRE_FALSE(first_outside(contiguous_plan<int64_t>({3}, 5, {bounds, Negative::from_end}), on(index)));
  }
  for (const Bounds bounds : {Bounds::raise, Bounds::deferred, Bounds::clip, Bounds::wrap}) {
    const auto bad = first_outside(contiguous_plan<int64_t>({3}, 0, {bounds, Negative::from_end}), on(index));
    REQUIRE(bad);
    REQUIRE(bad->flat == 0);
    REQUIRE(bad->count == 3);
  }
  REQUIRE_FALSE(first_outside(contiguous_plan<int64_t>({3}, 0, {Bounds::fill, Negative::from_end}), on(index)));
}

TEST_CASE("several index arrays: a point counts once, by its lowest bad axis", "[first_outside]") {
  const std::vector<int64_t> rows{0, 9, 1};
  const std::vector<int8_t> columns{0, 9, 9};
  Plan plan = contiguous_plan<int64_t>({3}, 5, {Bounds::raise, Negative::from_end});
  plan.index.push_back({IndexType::i8, 1, 4, 1});
  plan.index_space = Space({3}, kIndex + 2);
  plan.index_space.stride(kIndex, 0) = 8;
  plan.index_space.stride(kIndex + 1, 0) = 1;
  Buffers buffers = on(rows);
  buffers.index.push_back(reinterpret_cast<const std::byte*>(columns.data()));
  const auto bad = first_outside(plan, buffers);
  REQUIRE(bad);
  REQUIRE(bad->flat == 1);
  REQUIRE(bad->axis == 0);
  REQUIRE(bad->count == 2);
}

TEST_CASE("strided and broadcast index spaces keep their flat positions", "[first_outside]") {
  // index[i, j] is at byte 8·i for every j: shape (3, 4).
  const std::vector<int64_t> index{0, 7, 1};
  Plan plan = contiguous_plan<int64_t>({3, 4}, 5, {Bounds::raise, Negative::from_end});
  plan.index_space = Space({3, 4}, kIndex + 1);
  plan.index_space.stride(kIndex, 0) = 8;
  const auto bad = first_outside(plan, on(index));
  REQUIRE(bad);
  REQUIRE(bad->flat == 4);
  REQUIRE(bad->count == 4);
  REQUIRE(unravel(bad->flat, plan.index_shape) == Dims{1, 0});
}

TEST_CASE("index spaces of any strides, masks and ranges give what a loop gives", "[first_outside]") {
  std::mt19937 random(5);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int some_bad = 0;
  for (int round = 0; round < 200; ++round) {
    Dims shape;
    for (int64_t rank = from(0, 3); rank > 0; --rank) shape.push_back(from(1, 6));
    if (round % 8 == 0) shape.push_back(from(1020, 2060));  // longer than a block of the scan
    const auto rank = shape.size();
    const int arrays = static_cast<int>(from(1, 2));
    Plan plan;
    plan.rule = {Bounds::raise, from(0, 1) == 0 ? Negative::from_end : Negative::out_of_bounds};
    plan.masked = from(0, 1) == 0;
    plan.index_space = Space(shape, kIndex + arrays);
    // Memory with a bad index at every place that no point has.
    std::vector<std::vector<int16_t>> index;
    Buffers buffers;
    for (int a = 0; a < arrays; ++a) {
      Dims stride = contiguous_strides(shape, 2 * from(1, 2));
      if (rank > 0 && from(0, 2) == 0) stride[static_cast<int>(from(0, rank - 1))] = 0;
      int64_t last = 0;
      for (int axis = 0; axis < rank; ++axis) last += (shape[axis] - 1) * stride[axis];
      index.emplace_back(static_cast<std::size_t>(last / 2 + 1), int16_t{999});
      for (int64_t flat = 0; flat < plan.index_space.count(); ++flat) {
        const Dims at = unravel(flat, shape);
        int64_t place = 0;
        for (int axis = 0; axis < rank; ++axis) place += at[axis] * stride[axis];
        index.back()[static_cast<std::size_t>(place / 2)] = static_cast<int16_t>(from(0, 300) == 0 ? 100 : from(-1, 9));
      }
      for (int axis = 0; axis < rank; ++axis) plan.index_space.stride(kIndex + a, axis) = stride[axis];
      plan.index.push_back({IndexType::i16, a, 10, 1});
    }
    for (const auto& array : index) buffers.index.push_back(reinterpret_cast<const std::byte*>(array.data()));
    std::vector<std::byte> mask(static_cast<std::size_t>(plan.index_space.count()));
    for (std::byte& byte : mask) byte = std::byte{from(0, 3) > 0};
    const Dims mask_stride = contiguous_strides(shape, 1);
    for (int axis = 0; axis < rank; ++axis) plan.index_space.stride(kMask, axis) = mask_stride[axis];
    if (plan.masked) buffers.mask = mask.data();

    const int64_t begin = from(0, plan.index_space.count() - 1);
    const int64_t end = from(begin, plan.index_space.count());
    std::optional<BadIndex> expected;
    for (int64_t flat = begin; flat < end; ++flat) {
      if (plan.masked && mask[static_cast<std::size_t>(flat)] == std::byte{0}) continue;
      const Dims at = unravel(flat, shape);
      for (int a = 0; a < arrays; ++a) {
        int64_t place = 0;
        for (int axis = 0; axis < rank; ++axis) place += at[axis] * plan.index_space.stride(kIndex + a, axis);
        const int16_t value = index[static_cast<std::size_t>(a)][static_cast<std::size_t>(place / 2)];
        if (resolve(value, 10, plan.rule) != kNowhere) continue;
        if (!expected) expected = BadIndex{flat, 0, 10, a, IndexType::i16, static_cast<uint64_t>(value)};
        ++expected->count;
        break;
      }
    }
    const std::optional<BadIndex> found = first_outside(plan, buffers, begin, end);
    REQUIRE(found.has_value() == expected.has_value());
    REQUIRE(any_outside(plan, buffers, begin, end) == expected.has_value());
    if (!expected) continue;
    ++some_bad;
    REQUIRE(found->flat == expected->flat);
    REQUIRE(found->count == expected->count);
    REQUIRE(found->axis == expected->axis);
    REQUIRE(found->bits == expected->bits);
  }
  REQUIRE(some_bad > 40);
}
