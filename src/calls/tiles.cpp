// tiles.cpp: computes the views of each tile, and runs a gather tile by tile.
#include "calls/tiles.h"

#include <algorithm>

#include "calls/attempt.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/progress.h"
#include "plans/checks.h"

namespace gs {
namespace {

Dims tile_counts(const Dims& shape, const Dims& tile) {
  if (tile.size() != shape.size()) {
    throw ShapeError("tile shape " + to_string(tile) + " has rank " + std::to_string(tile.size()) +
                     ", the result has rank " + std::to_string(shape.size()));
  }
  Dims counts(shape.size());
  for (int d = 0; d < shape.size(); ++d) {
    if (tile[d] < 1) throw ShapeError("tile shape " + to_string(tile) + " has an extent below 1");
    counts[d] = shape[d] / tile[d] + (shape[d] % tile[d] != 0 ? 1 : 0);
  }
  return counts;
}

void cut(ArrayView& view, int d, int64_t begin, int64_t most) {
  view.data += begin * view.stride[d];
  view.extent[d] = std::min(most, view.extent[d] - begin);
}

constexpr int64_t kTilesBetweenPolls = 1024;

Outcome move_tiles(const Backend& backend, const Request& request, const Views& views, const ArrayView& result,
                   const RunOptions& options) {
  const IndexView& index = views.indices[0];
  const int axis = normalize_axis(*request.axis, views.input.rank());
  const int64_t count = tile_count(index.extent, request.tile);
  Plan plan;
  Dims planned;  // extents that `plan` was made for: most tiles share them, and none has no axes
  for (int64_t number = 0; number < count; ++number) {
    const Tile tile = tile_at(views.input, index, result, axis, request.tile, number);
    if (!(tile.result.extent == planned)) {
      Extras extras;
      extras.dense = &tile.result;
      plan = along_axis(tile.input, tile.index, axis, request.match, request.rule, extras);
      planned = tile.result.extent;
    }
    Buffers buffers;
    buffers.dense = tile.result.data;
    buffers.indexed = tile.input.data;
    buffers.index.push_back(tile.index.data);
    const Outcome outcome = backend.move(plan, buffers, Direction::gather, {1, nullptr});
    if (outcome != Outcome::done) return outcome;
    const bool polls = options.interrupted != nullptr && number % kTilesBetweenPolls == kTilesBetweenPolls - 1;
    if (polls) host::Progress::current().reach(static_cast<double>(number + 1) / static_cast<double>(count));
    if (polls && options.interrupted()) return Outcome::interrupted;
  }
  return Outcome::done;
}

}  // namespace

int64_t tile_count(const Dims& shape, const Dims& tile) {
  return checked_count(tile_counts(shape, tile));
}

Tile tile_at(const ArrayView& input, const IndexView& index, const ArrayView& result, int axis, const Dims& tile,
             int64_t number) {
  const Dims at = unravel(number, tile_counts(index.extent, tile));
  Tile box{input, index, result};
  for (int d = 0; d < index.rank(); ++d) {
    const int64_t begin = at[d] * tile[d];
    cut(box.index, d, begin, tile[d]);
    cut(box.result, d, begin, tile[d]);
    if (d != axis) cut(box.input, d, begin, tile[d]);
  }
  return box;
}

CallResult run_tiled_gather(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                            std::byte* result) {
  const Backend& backend = call.backend();
  const ArrayView target = contiguous_view(result, plan.result_shape, plan.item);
  const Buffers buffers = buffers_of(request, views, result, views.input.data);
  return run_attempts(call, {plan, buffers, Direction::gather, lock_for(backend, plan)},
                      [&](const Plan&, const Buffers&, const RunOptions& options) {
                        return move_tiles(backend, request, views, target, options);
                      });
}

}  // namespace gs
