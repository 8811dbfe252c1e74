// execute_tiled.cpp: runs a gather along an axis tile by tile.
#include "bindings/execute.h"
#include "bindings/python_errors.h"
#include "bindings/to_python.h"
#include "plans/checks.h"
#include "plans/tiles.h"

namespace gs {
namespace {

// Returns false if an index is out of bounds, true if all tiles were moved or the call was interrupted.
bool move_tiles(const Request& request, const Operands& operands, const ArrayView& result, const RunOptions& options) {
  const ArrayView& input = operands.input.view;
  const IndexView& index = operands.indices[0].view;
  const int axis = normalize_axis(*request.axis, input.rank());
  const int64_t count = tile_count(index.extent, request.tile);
  Plan plan;
  Dims planned;  // extents that `plan` was made for: most tiles share them
  for (int64_t number = 0; number < count; ++number) {
    const Tile tile = tile_at(input, index, result, axis, request.tile, number);
    if (number == 0 || !(tile.result.extent == planned)) {
      Extras extras;
      extras.dense = &tile.result;
      plan = along_axis(tile.input, tile.index, axis, request.match, request.rule, extras);
      planned = tile.result.extent;
    }
    Buffers buffers;
    buffers.dense = tile.result.data;
    buffers.indexed = tile.input.data;
    buffers.index.push_back(tile.index.data);
    const Outcome outcome = host_backend().move(plan, buffers, Direction::gather, {1, nullptr});
    if (outcome != Outcome::done) return false;
    if (number % 1024 == 1023 && options.interrupted != nullptr && options.interrupted()) return true;
  }
  return true;
}

}  // namespace

py::object execute_tiled(const Request& request, const Plan& plan, const Operands& operands) {
  Result fresh(operands, plan.result_shape);
  const ArrayView result = contiguous_view(fresh.data(), plan.result_shape, plan.item);
  const Buffers buffers = buffers_of(request, operands, result.data, operands.input.view.data);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    bool good = false;
    std::optional<BadIndex> bad;
    run_work(keeps_lock(plan), [&](const RunOptions& options) {
      good = move_tiles(request, operands, result, options);
      if (!good) bad = host_backend().first_outside(plan, buffers, options);
    });
    if (bad) raise_out_of_bounds(request.op, plan, *bad);
    if (good) return fresh.take();
  }
  throw std::runtime_error("the index array kept changing while it was used");
}

}  // namespace gs
