// make_plan.cpp: chooses the planner of a request and passes the views of the call to it.
#include "calls/make_plan.h"

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "calls/tiles.h"
#include "core/error.h"
#include "plans/checks.h"

namespace gs {
namespace {

constexpr const char* kFlatIndex = "; an index of one axis is one coordinate. One row number each? indices[:, None]";

// Splits an array of coordinates into index arrays, one for each entry of its last axis. There may be at most `most`.
std::vector<IndexView> split_coordinates(const IndexView& all, int most) {
  const int last = all.rank() - 1;
  if (last < 0) throw ShapeError("indices is a scalar, expected an array whose last axis holds coordinates");
  if (all.extent[last] > most) {
    throw ShapeError("indices of shape " + to_string(all.extent) + " hold coordinates of " +
                     std::to_string(all.extent[last]) + " axes, the array has " + std::to_string(most) +
                     " after batch_dims" +
                     (last == 0 ? kFlatIndex : "; the coordinates of a point lie along the last axis of indices"));
  }
  std::vector<IndexView> views(static_cast<std::size_t>(all.extent[last]), all);
  for (std::size_t a = 0; a < views.size(); ++a) {
    if (all.data != nullptr) views[a].data += static_cast<int64_t>(a) * all.stride[last];
    views[a].extent.resize(last);
    views[a].stride.resize(last);
  }
  return views;
}

Plan plan_points(const Request& request, const Views& views, const ArrayView& input, const Extras& extras) {
  if (!request.coordinates) {
    const std::span<const IndexView> indices{views.indices.begin(), views.indices.size()};
    return at_points(input, indices, {}, request.batch_dims, request.rule, extras);
  }
  const IndexView& all = views.indices[0];
  if (request.batch_dims < 0 || request.batch_dims > input.rank()) {
    throw ShapeError("batch_dims " + std::to_string(request.batch_dims) + " is not in [0, " +
                     std::to_string(input.rank()) + "], the rank of the input");
  }
  const auto batch = static_cast<int>(request.batch_dims);
  const std::vector<IndexView> indices = split_coordinates(all, input.rank() - batch);
  Dims points = all.extent;
  points.resize(all.rank() - 1);
  try {
    return at_points(input, indices, points, request.batch_dims, request.rule, extras);
  } catch (const BatchShapeError&) {
    throw;
  } catch (const ShapeError& error) {
    if (all.rank() != 1 || request.direction != Direction::scatter) throw;
    throw ShapeError(error.what() + std::string(kFlatIndex));
  }
}

// `input` takes the place of the input of the call.
Plan plan_for(const Request& request, const Views& views, const ArrayView& input, const Extras& extras) {
  switch (request.planner) {
    case Planner::take_axis:
      return take_axis(input, views.indices[0], request.axis, request.batch_dims, request.rule, extras);
    case Planner::along_axis:
      if (!request.tile.empty()) tile_count(views.indices[0].extent, request.tile);
      return along_axis(input, views.indices[0], request.axis, request.match, request.rule, extras);
    case Planner::at_points: return plan_points(request, views, input, extras);
    // A scatter under a mask: the input, which is the indexed side, has the shape of the points.
    case Planner::elementwise: return elementwise(input, input.extent, extras);
  }
  throw std::logic_error("unknown planner");
}

Extras extras_of(const Views& views) {
  Extras extras;
  if (views.mask) extras.mask = &*views.mask;
  if (views.fill) extras.fill = &*views.fill;
  return extras;
}

}  // namespace

Plan make_plan(const Request& request, const Views& views) {
  if (request.direction == Direction::scatter) return make_plan_on(request, views, views.input);
  Extras extras = extras_of(views);
  if (views.out) extras.dense = &*views.out;
  return plan_for(request, views, views.input, extras);
}

Plan make_plan_on(const Request& request, const Views& views, const ArrayView& target) {
  Extras extras = extras_of(views);
  extras.dense = &*views.source;
  extras.fit = request.fit;
  if (request.coordinates) extras.source = "updates";  // of scatter_nd, which alone writes at coordinates
  return plan_for(request, views, target, extras);
}

Plan make_scatter_plan(const Request& request, const Views& views) {
  if (views.out) return make_plan_on(request, views, *views.out);
  return make_plan_on(request, views, contiguous_view(nullptr, views.input.extent, views.input.item));
}

}  // namespace gs
