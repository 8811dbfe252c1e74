// test_planners.cpp: the four planners compared with their formulas, in both directions, by the reference backend.
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "backends/backend.h"
#include "catch.h"
#include "core/checked.h"
#include "core/error.h"
#include "plans/plans.h"
#include "reference.h"

using namespace gs;

namespace {

// An int32 array in C order, with a view of it.
struct Array {
  explicit Array(const Dims& extent) : value(static_cast<std::size_t>(checked_count(extent))) {
    view.item = 4;
    view.extent = extent;
    view.stride = contiguous_strides(extent, 4);
    view.data = reinterpret_cast<std::byte*>(value.data());
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<int32_t>(i) + 1000;
  }
  int32_t& at(const Dims& position) {
    int64_t flat = 0;
    for (int axis = 0; axis < position.size(); ++axis) flat = flat * view.extent[axis] + position[axis];
    return value[static_cast<std::size_t>(flat)];
  }
  std::vector<int32_t> value;
  ArrayView view;
};

struct Index {
  Index(const Dims& extent, int64_t limit, unsigned seed) : value(static_cast<std::size_t>(checked_count(extent))) {
    view.item = 8;
    view.type = IndexType::i64;
    view.extent = extent;
    view.stride = contiguous_strides(extent, 8);
    view.data = reinterpret_cast<std::byte*>(value.data());
    std::mt19937_64 random(seed);
    for (int64_t& v : value) v = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  int64_t at(const Dims& position) const {
    int64_t flat = 0;
    for (int axis = 0; axis < position.size(); ++axis) flat = flat * view.extent[axis] + position[axis];
    return value[static_cast<std::size_t>(flat)];
  }
  std::vector<int64_t> value;
  IndexView view;
};

const Rule kRaise{Bounds::raise, Negative::from_end};

// Gathers with the plan and compares each result with input[source(c)]; then scatters the result into an empty array
// and checks that exactly the gathered positions have their values again.
void check(const Plan& plan, Array& input, const std::vector<const Index*>& indices, const Dims& shape,
           const std::function<Dims(const Dims&)>& source) {
  REQUIRE(plan.result_shape == shape);
  Array result(shape);
  Buffers buffers;
  buffers.dense = result.view.data;
  buffers.indexed = input.view.data;
  for (const Index* index : indices) buffers.index.push_back(index->view.data);
  REQUIRE(reference::backend().move(plan, buffers, Direction::gather, {}) == Outcome::done);
  Array expected_back(input.view.extent);
  std::fill(expected_back.value.begin(), expected_back.value.end(), 0);
  for (int64_t flat = 0; flat < checked_count(shape); ++flat) {
    const Dims c = unravel(flat, shape);
    REQUIRE(result.at(c) == input.at(source(c)));
    expected_back.at(source(c)) = result.at(c);
  }
  Array back(input.view.extent);
  std::fill(back.value.begin(), back.value.end(), 0);
  buffers.indexed = back.view.data;
  REQUIRE(reference::backend().move(plan, buffers, Direction::scatter, {}) == Outcome::done);
  REQUIRE(back.value == expected_back.value);
}

Dims with(Dims position, int axis, int64_t value) {
  position[axis] = value;
  return position;
}

}  // namespace

TEST_CASE("along_axis: result[.., i, ..] = input[.., index[.., i, ..], ..]", "[planners]") {
  Array input({5, 6, 7});
  const int axis = GENERATE(0, 1, 2, -1);
  const int at = axis < 0 ? 2 : axis;
  Dims shape{3, 6, 2};
  shape[at] = 9;  // longer than the input along the axis
  const Index index(shape, input.view.extent[at], 1);
  const Plan plan = along_axis(input.view, index.view, axis, Match::prefix, kRaise, {});
  check(plan, input, {&index}, shape, [&](const Dims& c) { return with(c, at, index.at(c)); });
}

TEST_CASE("along_axis broadcasts on request", "[planners]") {
  Array input({5, 1, 7});
  const Index index({1, 6, 4}, 7, 2);
  const Plan plan = along_axis(input.view, index.view, 2, Match::broadcast, kRaise, {});
  check(plan, input, {&index}, {5, 6, 4}, [&](const Dims& c) { return Dims{c[0], 0, index.at({0, c[1], c[2]})}; });
  REQUIRE_THROWS_AS(along_axis(input.view, index.view, 2, Match::prefix, kRaise, {}), ShapeError);
}

TEST_CASE("along_axis checks ranks, axes and shapes", "[planners]") {
  Array input({5, 6});
  const Index flat({5}, 5, 3);
  const Index wide({5, 7}, 5, 3);
  REQUIRE_THROWS_AS(along_axis(input.view, flat.view, 0, Match::prefix, kRaise, {}), ShapeError);
  REQUIRE_THROWS_AS(along_axis(input.view, wide.view, 0, Match::prefix, kRaise, {}), ShapeError);
  REQUIRE_NOTHROW(along_axis(input.view, wide.view, 1, Match::prefix, kRaise, {}));
  REQUIRE_THROWS_AS(along_axis(input.view, wide.view, 2, Match::prefix, kRaise, {}), AxisError);
  Array scalar(Dims{});
  const Index zero({}, 1, 4);
  REQUIRE(along_axis(scalar.view, zero.view, 0, Match::prefix, kRaise, {}).result_shape == Dims{});
  REQUIRE_THROWS_AS(along_axis(scalar.view, zero.view, 1, Match::prefix, kRaise, {}), AxisError);
}

TEST_CASE("take_axis: result[B, M, I, T] = input[B, M, indices[B, I], T]", "[planners]") {
  Array input({2, 3, 4, 5});
  const int batch = GENERATE(0, 1, 2);
  const int axis = GENERATE(2, 3);
  Dims index_shape{2, 3};
  if (batch == 0) index_shape = {};
  if (batch == 1) index_shape = {2};
  index_shape.push_back(6);
  index_shape.push_back(2);
  const Index indices(index_shape, input.view.extent[axis], 5);
  const Plan plan = take_axis(input.view, indices.view, axis, batch, kRaise, {});
  Dims shape;
  shape.append(input.view.extent.data(), axis);
  shape.append(index_shape.data() + batch, 2);
  shape.append(input.view.extent.data() + axis + 1, 3 - axis);
  check(plan, input, {&indices}, shape, [&](const Dims& c) {
    Dims position;
    position.append(c.data(), batch);
    position.append(c.data() + axis, 2);
    Dims source;
    source.append(c.data(), axis);
    source.push_back(indices.at(position));
    source.append(c.data() + axis + 2, 3 - axis);
    return source;
  });
}

TEST_CASE("take_axis without an axis walks the flattened input, transposed or not", "[planners]") {
  Array input({4, 6});
  const Index indices({3, 5}, 24, 6);
  check(take_axis(input.view, indices.view, std::nullopt, 0, kRaise, {}), input, {&indices}, {3, 5},
        [&](const Dims& c) { return Dims{indices.at(c) / 6, indices.at(c) % 6}; });

  ArrayView transposed = input.view;
  transposed.extent = {6, 4};
  transposed.stride = {4, 24};
  check(take_axis(transposed, indices.view, std::nullopt, 0, kRaise, {}), input, {&indices}, {3, 5},
        [&](const Dims& c) { return Dims{indices.at(c) % 4, indices.at(c) / 4}; });
}

TEST_CASE("take_axis checks batch_dims", "[planners]") {
  Array input({2, 3, 4});
  const Index indices({2, 5}, 3, 7);
  const Index other({3, 5}, 3, 7);
  REQUIRE_THROWS_AS(take_axis(input.view, indices.view, 0, 1, kRaise, {}), ShapeError);
  REQUIRE_THROWS_AS(take_axis(input.view, indices.view, 2, 3, kRaise, {}), ShapeError);
  REQUIRE_THROWS_AS(take_axis(input.view, indices.view, 2, -1, kRaise, {}), ShapeError);
  REQUIRE_THROWS_AS(take_axis(input.view, other.view, 1, 1, kRaise, {}), BatchShapeError);
  REQUIRE_THROWS_AS(take_axis(input.view, indices.view, 3, 0, kRaise, {}), AxisError);
  REQUIRE_THROWS_AS(take_axis(input.view, indices.view, std::nullopt, 1, kRaise, {}), ShapeError);
}

TEST_CASE("at_points: one index array for each axis, the rest taken whole", "[planners]") {
  Array array({4, 5, 6});
  const Index rows({3, 1}, 4, 8);
  const Index columns({7}, 5, 9);
  const IndexView two[] = {rows.view, columns.view};
  check(at_points(array.view, two, {}, 0, kRaise, {}), array, {&rows, &columns}, {3, 7, 6},
        [&](const Dims& c) { return Dims{rows.at({c[0], 0}), columns.at({c[1]}), c[2]}; });

  const Index batched({4, 2}, 5, 10);
  const IndexView one[] = {batched.view};
  check(at_points(array.view, one, {}, 1, kRaise, {}), array, {&batched}, {4, 2, 6},
        [&](const Dims& c) { return Dims{c[0], batched.at({c[0], c[1]}), c[2]}; });

  REQUIRE_THROWS_AS(at_points(array.view, two, {}, 2, kRaise, {}), ShapeError);
  REQUIRE_THROWS_AS(at_points(array.view, one, {}, 2, kRaise, {}), ShapeError);
  const Index apart({2, 7}, 4, 11);
  const IndexView clash[] = {rows.view, apart.view};
  REQUIRE_THROWS_AS(at_points(array.view, clash, {}, 0, kRaise, {}), ShapeError);
}

TEST_CASE("elementwise copies, the input broadcast to the shape", "[planners]") {
  Array input({1, 6});
  check(elementwise(input.view, {1, 6}, {}), input, {}, {1, 6}, [](const Dims& c) { return c; });
  const Plan plan = elementwise(input.view, {4, 6}, {});
  Array result({4, 6});
  Buffers buffers;
  buffers.dense = result.view.data;
  buffers.indexed = input.view.data;
  REQUIRE(reference::backend().move(plan, buffers, Direction::gather, {}) == Outcome::done);
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j) REQUIRE(result.at({i, j}) == input.at({0, j}));
  }
  REQUIRE_THROWS_AS(elementwise(input.view, {4, 5}, {}), ShapeError);
}

TEST_CASE("mask and fill: points without a source get the fill value and are not scattered", "[planners]") {
  Array input({5});
  Index index({6}, 5, 12);
  index.value = {0, 7, 2, -1, 99, 4};
  const unsigned char bits[] = {1, 1, 0, 1, 0, 1};
  ArrayView mask;
  mask.data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(bits));
  mask.extent = {6};
  mask.stride = {1};
  Array fill(Dims{});
  fill.value[0] = -5;
  Extras extras;
  extras.mask = &mask;
  extras.fill = &fill.view;
  const Plan plan = take_axis(input.view, index.view, 0, 0, {Bounds::fill, Negative::from_end}, extras);
  Array result({6});
  Buffers buffers;
  buffers.dense = result.view.data;
  buffers.indexed = input.view.data;
  buffers.mask = mask.data;
  buffers.fill = fill.view.data;
  buffers.index.push_back(index.view.data);
  REQUIRE(reference::backend().move(plan, buffers, Direction::gather, {}) == Outcome::done);
  REQUIRE(result.value == std::vector<int32_t>{1000, -5, -5, 1004, -5, 1004});
  std::vector<int32_t> before = input.value;
  result.value = {1, 2, 3, 4, 5, 6};
  REQUIRE(reference::backend().move(plan, buffers, Direction::scatter, {}) == Outcome::done);
  before[0] = 1;
  before[4] = 6;  // the later of the two points with this target
  REQUIRE(input.value == before);
}

TEST_CASE("a bad index stops the run and writes nothing outside", "[planners]") {
  Array input({5});
  Index index({4}, 5, 13);
  index.value = {0, 5, 1, 2};
  const Plan plan = take_axis(input.view, index.view, 0, 0, kRaise, {});
  Array result({4});
  Buffers buffers;
  buffers.dense = result.view.data;
  buffers.indexed = input.view.data;
  buffers.index.push_back(index.view.data);
  for (const Direction direction : {Direction::gather, Direction::scatter}) {
    REQUIRE(reference::backend().move(plan, buffers, direction, {}) == Outcome::bad_index);
  }
}

TEST_CASE("an output of another shape or a result that does not fit in 64 bits is refused", "[planners]") {
  Array input({5, 4});
  const Index index({3}, 5, 14);
  Array out({4, 4});
  Extras extras;
  extras.dense = &out.view;
  REQUIRE_THROWS_AS(take_axis(input.view, index.view, 0, 0, kRaise, extras), ShapeError);

  IndexView huge = index.view;
  huge.extent = {int64_t{1} << 40, int64_t{1} << 40};
  huge.stride = {0, 0};
  REQUIRE_THROWS_AS(take_axis(input.view, huge, 0, 0, kRaise, {}), ShapeError);
}

TEST_CASE("the source of a scatter may be broadcast, and along an axis it may be larger", "[planners]") {
  Array input({5, 4});
  const Index index({3, 2}, 5, 15);
  const auto strides = [&](const Dims& extent, Fit fit) {
    Array source(extent);
    Extras extras;
    extras.dense = &source.view;
    extras.fit = fit;
    const Plan plan = along_axis(input.view, index.view, 0, Match::prefix, kRaise, extras);
    return Dims{plan.space.stride(kDense, 0), plan.space.stride(kDense, 1)};
  };
  REQUIRE((strides({1, 2}, Fit::broadcast) == Dims{0, 4}));
  REQUIRE((strides({3, 1}, Fit::broadcast) == Dims{4, 0}));
  REQUIRE((strides({3, 7}, Fit::leading) == Dims{28, 4}));
  REQUIRE_THROWS_AS(strides({3, 7}, Fit::broadcast), ShapeError);
  REQUIRE_THROWS_AS(strides({2, 7}, Fit::leading), ShapeError);
  REQUIRE_THROWS_AS(strides({1, 3, 2}, Fit::broadcast), ShapeError);
  REQUIRE_THROWS_AS(strides({1, 2}, Fit::exact), ShapeError);
}
