// test_tile_points.cpp: compares gathers and scatters at few points with loops over their coordinates, on random
// arrays.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "calls/small_array.h"
#include "calls/tile_points.h"
#include "catch.h"

namespace gs {
namespace {

constexpr int kMaxRank = SmallArray::kMaxRank;
using Coordinates = std::vector<int64_t>;

// An array with memory of its own, in a random order of axes, with gaps, and read backwards along some axes.
struct Owned {
  std::vector<std::byte> memory;
  SmallArray view;

  std::byte* at(const Coordinates& point) const {
    std::byte* address = view.data;
    for (int axis = 0; axis < view.rank; ++axis) address += point[static_cast<std::size_t>(axis)] * view.stride[axis];
    return address;
  }
  // The item that broadcasts to a point of more axes.
  std::byte* broadcast_at(const Coordinates& point) const {
    Coordinates own;
    for (int axis = 0; axis < view.rank; ++axis) {
      const int64_t at = point[point.size() - static_cast<std::size_t>(view.rank - axis)];
      own.push_back(view.extent[axis] == 1 ? 0 : at);
    }
    return this->at(own);
  }
};

std::vector<Coordinates> points_of(const std::vector<int64_t>& extent) {
  std::vector<Coordinates> points{{}};
  for (const int64_t length : extent) {
    std::vector<Coordinates> longer;
    for (const Coordinates& point : points) {
      for (int64_t i = 0; i < length; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = longer;
  }
  return points;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Owned array(const std::vector<int64_t>& extent, int64_t item, bool is_contiguous = false) {
    Owned array;
    array.view.item = item;
    array.view.rank = static_cast<int>(extent.size());
    std::vector<int> order;
    for (int axis = array.view.rank - 1; axis >= 0; --axis) order.push_back(axis);
    if (!is_contiguous) std::shuffle(order.begin(), order.end(), random_);
    int64_t span = item;
    int64_t first = 0;
    for (const int axis : order) {
      const int64_t length = extent[static_cast<std::size_t>(axis)];
      array.view.extent[axis] = length;
      array.view.stride[axis] = span + (is_contiguous ? 0 : number(0, 3));
      span = array.view.stride[axis] * length;
      if (!is_contiguous && number(0, 2) == 0) {
        first += array.view.stride[axis] * (length - 1);
        array.view.stride[axis] = -array.view.stride[axis];
      }
    }
    array.memory.resize(static_cast<std::size_t>(span));
    for (std::byte& byte : array.memory) byte = static_cast<std::byte>(number(0, 255));
    array.view.data = array.memory.data() + first;
    return array;
  }
  // A shape that broadcasts to `extent`.
  std::vector<int64_t> smaller(const std::vector<int64_t>& extent) {
    std::vector<int64_t> smaller(extent.begin() + number(0, static_cast<int64_t>(extent.size())), extent.end());
    for (int64_t& length : smaller) {
      if (number(0, 3) == 0) length = 1;
    }
    return smaller;
  }
  std::vector<int64_t> shape(int rank, int64_t most) {
    std::vector<int64_t> shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(number(1, most));
    return shape;
  }

 private:
  std::mt19937_64 random_;
};

// One tile call: an array, an index for each of its axes, which spans the shape or broadcasts to it, and a mask.
struct Case {
  Owned array;
  std::vector<int64_t> shape;
  std::vector<Owned> indices;
  Owned mask;
  bool is_masked;
  bool has_all = true;  // no point that the mask wants lies outside

  Case(Draw& draw, int64_t item) {
    const int rank = static_cast<int>(draw.number(1, kMaxRank));
    array = draw.array(draw.shape(rank, 5), item);
    shape = draw.shape(static_cast<int>(draw.number(1, kMaxRank)), 4);
    const int64_t whole = draw.number(0, rank - 1);
    const int64_t slack = draw.number(0, 1);  // else all indices lie inside
    for (int axis = 0; axis < rank; ++axis) {
      indices.push_back(draw.array(axis == whole ? shape : draw.smaller(shape), 8, draw.number(0, 1) == 0));
      const Owned& index = indices.back();
      const std::vector<int64_t> extent(index.view.extent, index.view.extent + index.view.rank);
      for (const Coordinates& point : points_of(extent)) {
        const int64_t value = draw.number(-slack, array.view.extent[axis] - 1 + slack);
        std::memcpy(index.at(point), &value, sizeof value);
      }
    }
    is_masked = draw.number(0, 1) == 0;
    mask = draw.array(draw.smaller(shape), 1);
    for (std::byte& byte : mask.memory) byte = static_cast<std::byte>(draw.number(0, 1));
  }

  // The item of the array at a point, or null.
  std::byte* item_at(const Coordinates& point) {
    if (is_masked && *mask.broadcast_at(point) == std::byte{0}) return nullptr;
    Coordinates position;
    for (int axis = 0; axis < array.view.rank; ++axis) {
      int64_t value;
      std::memcpy(&value, indices[static_cast<std::size_t>(axis)].broadcast_at(point), sizeof value);
      if (value < 0 || value >= array.view.extent[axis]) {
        has_all = false;
        return nullptr;
      }
      position.push_back(value);
    }
    return array.at(position);
  }
  // Returns whether no wanted point lies outside.
  bool find(TilePoints& points) const {
    for (const Owned& index : indices) REQUIRE(points.enlarge(index.view));
    REQUIRE(points.end_shape());
    REQUIRE(points.rank() == static_cast<int>(shape.size()));
    REQUIRE(std::equal(shape.begin(), shape.end(), points.extent()));
    points.start(is_masked ? &mask.view : nullptr);
    bool is_inside = true;
    for (int axis = 0; axis < array.view.rank; ++axis) {
      const Owned& index = indices[static_cast<std::size_t>(axis)];
      is_inside = points.add(index.view, array.view.extent[axis], array.view.stride[axis]) && is_inside;
    }
    return is_inside;
  }
};

constexpr int64_t kItems[] = {1, 2, 3, 4, 8, 12, 64};

TEST_CASE("few points are gathered as by a loop") {
  Draw draw(1);
  int64_t outside = 0;
  for (int round = 0; round < 3000; ++round) {
    const int64_t item = kItems[draw.number(0, 6)];
    Case one(draw, item);
    const Owned padding = draw.array(draw.smaller(one.shape), item);
    std::vector<std::byte> expected;
    for (const Coordinates& point : points_of(one.shape)) {
      const std::byte* from = one.item_at(point);
      if (from == nullptr) from = padding.broadcast_at(point);
      expected.insert(expected.end(), from, from + item);
    }
    TilePoints points;
    REQUIRE(one.find(points) == one.has_all);
    REQUIRE(points.takes(padding.view));
    std::vector<std::byte> result(expected.size());
    points.gather(one.array.view, padding.view, result.data());
    REQUIRE(result == expected);
    outside += !one.has_all;
  }
  REQUIRE(outside > 500);  // both kinds of cases were drawn
  REQUIRE(outside < 2500);
}

TEST_CASE("few points are scattered as by a loop, and the last of equal positions stays") {
  Draw draw(2);
  for (int round = 0; round < 3000; ++round) {
    const int64_t item = kItems[draw.number(0, 6)];
    Case one(draw, item);
    const Owned value = draw.array(draw.smaller(one.shape), item);
    const std::vector<std::byte> before = one.array.memory;
    for (const Coordinates& point : points_of(one.shape)) {
      if (std::byte* to = one.item_at(point)) {
        std::memcpy(to, value.broadcast_at(point), static_cast<std::size_t>(item));
      }
    }
    const std::vector<std::byte> expected = one.array.memory;
    std::memcpy(one.array.memory.data(), before.data(), before.size());
    TilePoints points;
    REQUIRE(one.find(points) == one.has_all);
    points.scatter(one.array.view, value.view);
    REQUIRE(one.array.memory == expected);
  }
}

TEST_CASE("indices of every type have the same positions") {
  const auto gathered = []<class Index>(Index first, IndexType type) {
    Index values[] = {first, 2, 0};
    const int16_t items[] = {10, 11, 12};
    SmallArray array, index, padding;
    const int16_t pad = -1;
    array.data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(items));
    padding.data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&pad));
    index.data = reinterpret_cast<std::byte*>(values);
    array.item = padding.item = array.stride[0] = sizeof(int16_t);
    index.item = index.stride[0] = sizeof(Index);
    array.rank = index.rank = 1;
    array.extent[0] = index.extent[0] = 3;
    index.type = type;
    TilePoints points;
    REQUIRE(points.enlarge(index));
    REQUIRE(points.end_shape());
    points.start(nullptr);
    REQUIRE_FALSE(points.add(index, 3, array.stride[0]));
    std::vector<int16_t> result(3);
    points.gather(array, padding, reinterpret_cast<std::byte*>(result.data()));
    return result;
  };
  const std::vector<int16_t> expected{-1, 12, 10};
  for (const int64_t sign : {-1, 1}) {
    REQUIRE(gathered(static_cast<int8_t>(sign * 100), IndexType::i8) == expected);
    REQUIRE(gathered(static_cast<int16_t>(sign * 300), IndexType::i16) == expected);
    REQUIRE(gathered(static_cast<int32_t>(sign * 70000), IndexType::i32) == expected);
    REQUIRE(gathered(sign * INT64_MAX, IndexType::i64) == expected);
  }
  REQUIRE(gathered(static_cast<uint8_t>(255), IndexType::u8) == expected);
  REQUIRE(gathered(static_cast<uint16_t>(65535), IndexType::u16) == expected);
  REQUIRE(gathered(UINT32_MAX, IndexType::u32) == expected);
  REQUIRE(gathered(UINT64_MAX, IndexType::u64) == expected);
}

TEST_CASE("shapes that do not broadcast, and those of no, or of many points, are declined") {
  Draw draw(3);
  const auto has_shape = [&](const std::vector<std::vector<int64_t>>& shapes) {
    TilePoints points;
    for (const auto& shape : shapes) {
      Owned index = draw.array(std::vector<int64_t>(shape.size(), 1), 8);
      std::copy(shape.begin(), shape.end(), index.view.extent);
      if (!points.enlarge(index.view)) return false;
    }
    return points.end_shape();
  };
  REQUIRE(has_shape({{TilePoints::kMost}}));
  REQUIRE(has_shape({{1, 3}, {2, 1}, {}}));
  REQUIRE_FALSE(has_shape({{TilePoints::kMost + 1}}));
  REQUIRE_FALSE(has_shape({{2}, {3}}));
  REQUIRE_FALSE(has_shape({{0}}));
  REQUIRE_FALSE(has_shape({{0}, {3}}));
  REQUIRE_FALSE(has_shape({{}}));
  REQUIRE_FALSE(has_shape({{INT64_MAX, 2}}));
  REQUIRE_FALSE(has_shape({{INT64_MAX, 0}}));

  TilePoints points;
  REQUIRE(points.enlarge(draw.array({2, 3}, 8).view));
  REQUIRE(points.end_shape());
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {3}, {1}, {2, 1}, {1, 3}, {2, 3}}) {
    REQUIRE(points.takes(draw.array(shape, 1).view));
  }
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{2}, {3, 3}, {1, 2, 3}, {1, 1, 1}}) {
    REQUIRE_FALSE(points.takes(draw.array(shape, 1).view));
  }
}

TEST_CASE("the range of a small array is that of its items") {
  Draw draw(4);
  for (int round = 0; round < 200; ++round) {
    const std::vector<int64_t> shape = draw.shape(static_cast<int>(draw.number(0, kMaxRank)), 4);
    const Owned array = draw.array(shape, draw.number(1, 9));
    const std::byte* low = nullptr;
    const std::byte* high = nullptr;
    for (const Coordinates& point : points_of(shape)) {
      const std::byte* const item = array.at(point);
      if (low == nullptr || item < low) low = item;
      if (high == nullptr || item + array.view.item > high) high = item + array.view.item;
    }
    REQUIRE(range_of(array.view).begin == low);
    REQUIRE(range_of(array.view).end == high);
    REQUIRE(draw.array(shape, 4, true).view.is_contiguous());
  }
}

}  // namespace
}  // namespace gs
