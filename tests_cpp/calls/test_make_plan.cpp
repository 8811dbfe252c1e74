// test_make_plan.cpp: checks which planner a request gets, and what it is given.
#include <string>
#include <vector>

#include "calls/make_plan.h"
#include "catch.h"
#include "core/error.h"

namespace gs {
namespace {

ArrayView packed(const Dims& extent) {
  return contiguous_view(nullptr, extent, 8);
}

IndexView index_of(const Dims& extent) {
  IndexView view;
  static_cast<ArrayView&>(view) = packed(extent);
  return view;
}

// A call on an input by index arrays of these shapes.
Views views_of(const Dims& input, const std::vector<Dims>& indices) {
  Views views;
  views.input = packed(input);
  views.indices.resize(indices.size());
  for (std::size_t a = 0; a < indices.size(); ++a) views.indices[a] = index_of(indices[a]);
  return views;
}

Request request_of(Planner planner, Direction direction = Direction::gather) {
  Request request;
  request.planner = planner;
  request.direction = direction;
  if (planner == Planner::take_axis || planner == Planner::along_axis) request.axis = 0;
  return request;
}

std::string refusal(const Request& request, const Views& views) {
  try {
    make_plan(request, views);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("each request gets the plan of its planner") {
  const Views rows = views_of({4, 5}, {{2, 3}});
  CHECK(make_plan(request_of(Planner::take_axis), rows) ==
        take_axis(rows.input, rows.indices[0], 0, 0, Rule{}, Extras{}));
  CHECK(make_plan(request_of(Planner::along_axis), rows) ==
        along_axis(rows.input, rows.indices[0], 0, Match::prefix, Rule{}, Extras{}));
  const Views points = views_of({4, 5, 6}, {{3, 1}, {2}});
  const IndexView indices[] = {points.indices[0], points.indices[1]};
  CHECK(make_plan(request_of(Planner::at_points), points) == at_points(points.input, indices, {}, 0, Rule{}, Extras{}));
  const Views copy = views_of({4, 5}, {});
  CHECK(make_plan(request_of(Planner::elementwise), copy) == elementwise(copy.input, {4, 5}, Extras{}));
}

TEST_CASE("an array of coordinates is an index array for each entry of its last axis") {
  Request request = request_of(Planner::at_points);
  request.coordinates = true;
  const Views views = views_of({4, 5, 6}, {{3, 2}});
  IndexView parts[] = {index_of({3}), index_of({3})};
  for (IndexView& part : parts) part.stride = Dims{16};
  CHECK(make_plan(request, views) == at_points(views.input, parts, {3}, 0, Rule{}, Extras{}));
  // With batch axes, and without coordinates: each point is the whole array, or the whole rest of it.
  request.batch_dims = 1;
  CHECK(make_plan(request, views_of({4, 5, 6}, {{4, 3, 2}})).result_shape == Dims{4, 3});
  CHECK(make_plan(request, views_of({4, 5, 6}, {{4, 0}})).result_shape == Dims{4, 5, 6});
  request.batch_dims = 0;
  CHECK(make_plan(request, views_of({4, 5, 6}, {{3}})).result_shape == Dims{});
  CHECK(make_plan(request, views_of({4, 5, 6}, {{7, 0}})).result_shape == Dims{7, 4, 5, 6});
}

TEST_CASE("coordinates that no array has are refused with what is wrong") {
  Request request = request_of(Planner::at_points);
  request.coordinates = true;
  CHECK(contains(refusal(request, views_of({4, 5}, {{}})), "is a scalar"));
  request.batch_dims = 1;
  CHECK(contains(refusal(request, views_of({4, 5, 6}, {{4, 3}})), "coordinates of 3 axes, the array has 2 after"));
  request.batch_dims = 0;
  const std::string many = refusal(request, views_of({4, 5}, {{7, 3}}));
  CHECK(contains(many, "coordinates of 3 axes, the array has 2"));
  CHECK_FALSE(contains(many, "indices[:, None]"));
  CHECK(contains(refusal(request, views_of({4, 5}, {{7}})), "indices[:, None]"));
  for (const int64_t bad : {-1, 3}) {
    request.batch_dims = bad;
    CHECK(contains(refusal(request, views_of({4, 5}, {{4, 5, 1}})), "is not in [0, 2]"));
  }
  request.batch_dims = 2;
  CHECK(make_plan(request, views_of({4, 5}, {{4, 5, 0}})).result_shape == Dims{4, 5});
}

TEST_CASE("a batch that differs is refused by that name, also where the coordinates are one") {
  Request request = request_of(Planner::at_points, Direction::scatter);
  request.coordinates = true;
  request.batch_dims = 1;
  Views views = views_of({4, 5}, {{3, 1}});
  views.source = packed({});
  CHECK_THROWS_AS(make_plan(request, views), BatchShapeError);
}

TEST_CASE("values for one coordinate that do not fit are refused with a word about row numbers, in a scatter only") {
  Request request = request_of(Planner::at_points, Direction::scatter);
  request.coordinates = true;
  Views views = views_of({4, 5}, {{2}});
  views.source = packed({3});
  CHECK(contains(refusal(request, views), "indices[:, None]"));
  views.indices[0] = index_of({1, 2});
  CHECK_FALSE(contains(refusal(request, views), "indices[:, None]"));
  request.direction = Direction::gather;
  views.indices[0] = index_of({2});
  views.out = packed({3});
  const std::string gather = refusal(request, views);
  CHECK(contains(gather, "out has shape (3,)"));
  CHECK_FALSE(contains(gather, "indices[:, None]"));
}

TEST_CASE("tiles need the rank of the result") {
  Request request = request_of(Planner::along_axis);
  const Views views = views_of({4, 5}, {{2, 5}});
  for (const Dims& tile : {Dims{1, 1}, Dims{9, 9}}) {
    request.tile = tile;
    CHECK(make_plan(request, views).result_shape == Dims{2, 5});
  }
  request.tile = Dims{1};
  CHECK(contains(refusal(request, views), "tile shape (1,) has rank 1"));
  request.tile = Dims{1, 0};
  CHECK(contains(refusal(request, views), "below 1"));
}

TEST_CASE("a gather has the strides of its output, and a scatter those of its values, broadcast as the request says") {
  Views views = views_of({4, 5}, {{2}});
  views.out = ArrayView{nullptr, 8, Dims{2, 5}, Dims{400, 80}};
  CHECK(make_plan(request_of(Planner::take_axis), views).space.stride(kDense, 0) == 400);
  views.out.reset();
  views.source = packed({1, 5});
  const Request scatter = request_of(Planner::take_axis, Direction::scatter);
  const Plan plan = make_plan(scatter, views);
  CHECK(plan.unit == 40);
  CHECK(plan.space.stride(kDense, 0) == 0);
  Request along = request_of(Planner::along_axis, Direction::scatter);
  views = views_of({4, 5}, {{2, 5}});
  views.source = packed({3, 5});
  CHECK(contains(refusal(along, views), "does not broadcast"));
  along.fit = Fit::leading;
  CHECK(make_plan(along, views).result_shape == Dims{2, 5});
}

TEST_CASE("the values of a scatter along an axis may be longer, where shapes match by prefix") {
  const auto fit = [](Planner planner, Match match) {
    Request request = request_of(planner);
    request.match = match;
    request.set_scatter();
    CHECK(request.direction == Direction::scatter);
    return request.fit;
  };
  CHECK(fit(Planner::along_axis, Match::prefix) == Fit::leading);
  CHECK(fit(Planner::along_axis, Match::broadcast) == Fit::broadcast);
  CHECK(fit(Planner::take_axis, Match::prefix) == Fit::broadcast);
}

TEST_CASE("the buffers of coordinates are one index array for each of them") {
  Views views = views_of({4, 5}, {{3, 2}});
  alignas(8) std::byte memory[64];
  views.indices[0].data = memory;
  Request request = request_of(Planner::at_points);
  request.coordinates = true;
  const Buffers buffers = buffers_of(request, views, nullptr, nullptr);
  CHECK(buffers.index.size() == 2);
  CHECK(buffers.index[0] == memory);
  CHECK(buffers.index[1] == memory + 8);
}

TEST_CASE("a plan for a scatter is that on its output, or on a new array in C order") {
  Views views = views_of({4, 5}, {{2}});
  views.input.stride = Dims{8, 32};
  views.source = packed({2, 5});
  const Request request = request_of(Planner::take_axis, Direction::scatter);
  const Plan fresh = make_scatter_plan(request, views);
  CHECK(fresh.unit == 40);
  CHECK(fresh == make_plan_on(request, views, packed({4, 5})));
  views.out = ArrayView{nullptr, 8, Dims{4, 5}, Dims{160, 32}};
  const Plan onto = make_scatter_plan(request, views);
  CHECK(onto.index[0].step == 160);
  CHECK(make_plan(request, views).index[0].step == 8);
}

TEST_CASE("masks and padding belong to the plans of both directions") {
  Views views = views_of({4}, {{3}});
  views.mask = ArrayView{nullptr, 1, Dims{3}, Dims{1}};
  views.fill = ArrayView{nullptr, 8, Dims{3}, Dims{24}};
  const Plan gather = make_plan(request_of(Planner::take_axis), views);
  CHECK(gather.masked);
  CHECK(gather.space.stride(kFill, 0) == 24);
  views.source = packed({3});
  views.fill.reset();
  const Plan scatter = make_plan(request_of(Planner::take_axis, Direction::scatter), views);
  CHECK(scatter.masked);
  CHECK(scatter.space.stride(kFill, 0) == 0);
}

}  // namespace
}  // namespace gs
